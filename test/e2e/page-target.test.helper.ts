import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { openPage } from "./chromium.test.helper.js";
import { program } from "./command.test.helper.js";

/** The page of processes that speak Channelz, and browsers that show it. */
export interface TargetPage {
  /** Opens an address of the page in a browser of its own. Everything that goes wrong in it fails the test. */
  open(path: string, options?: BrowserContextOptions): Promise<Page>;
  /** Problems of the pages of this test that match are expected. */
  expectProblems(pattern: RegExp): void;
}

/** Serves the page of the targets that `start` returns, before the tests of this file. Call it at the top of a file. */
export function useTargetPage(start: () => Promise<readonly string[]>): TargetPage {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-page-"));
  let child: ChildProcess | undefined;
  let link = "";
  let storageState: BrowserContextOptions["storageState"];
  let found: string[][] = [];
  let expected: RegExp[] = [];

  beforeAll(async () => {
    const targets = (await start()).flatMap((target) => ["--target", target]);
    child = spawn(process.execPath, [program, "page", "--json", ...targets], {
      env: { PATH: process.env.PATH ?? "", HOME: folder },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = await once(child.stdout!.setEncoding("utf8"), "data");
    link = JSON.parse(line).link;
  });
  afterAll(async () => {
    child?.kill();
    if (child?.exitCode === null) await once(child, "exit");
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    const problems = found.flat().filter((problem) => !expected.some((pattern) => pattern.test(problem)));
    found = [];
    expected = [];
    expect(problems).toEqual([]);
  });

  return {
    async open(path, options = {}) {
      const { page, problems } = await openPage({
        ...options,
        ...(storageState === undefined ? {} : { storageState }),
      });
      found.push(problems);
      // A link works once. Later browsers get what the first one has.
      if (storageState === undefined) {
        await page.goto(link);
        await page.waitForURL((current) => current.search === "");
        storageState = await page.context().storageState();
      }
      await page.goto(new URL(path, link).href);
      await page.getByText("live", { exact: true }).waitFor();
      return page;
    },
    expectProblems: (pattern) => void expected.push(pattern),
  };
}
