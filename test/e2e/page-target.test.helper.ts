import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { openPage } from "./chromium.test.helper.js";
import { program } from "./command.test.helper.js";

/** The page for processes that speak Channelz, and browsers that show it. */
export interface TargetPage {
  /** Opens a path of the page in a new browser context. Problems in the browser fail the test. */
  open(path: string, options?: BrowserContextOptions): Promise<Page>;
  /** Problems of this test that match are expected. */
  expectProblems(pattern: RegExp): void;
}

/** Serves the page for the targets that `start` returns, before the tests of this file. Call it at the top of a file. */
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
      // A link works once. Later contexts get the storage of the first one.
      if (storageState === undefined) {
        await page.goto(link);
        await page.waitForURL((current) => current.search === "");
        storageState = await page.context().storageState();
      }
      await page.goto(new URL(path, link).href);
      await page.getByText(/^(live|recorded .+)$/).waitFor();
      return page;
    },
    expectProblems: (pattern) => void expected.push(pattern),
  };
}
