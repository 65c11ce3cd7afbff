import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import { openPage } from "./chromium.test.helper.js";
import { program, runCommand } from "./command.test.helper.js";

/** A small desktop window. */
export const screen: BrowserContextOptions = { viewport: { width: 1280, height: 800 } };

/** A phone in portrait mode. */
export const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, hasTouch: true };

export interface PageGatewayOptions {
  /** Options of `wirescope up`, such as `--demo` or `--config`. They may depend on the folder. */
  readonly args: (folder: string) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it keeps its port, so that open pages find it again after a restart. Default: it listens on any free port. */
  readonly keepsPort?: boolean;
}

/** A gateway for the tests of a file, as a separate process, and browsers that show its page. */
export interface PageGateway {
  /** Its folder, which is also its home. */
  readonly folder: string;
  /** The address of the page. */
  readonly url: string;
  /** Its variables; commands with these find the gateway. */
  readonly env: Readonly<Record<string, string>>;
  /** Opens the page in a new browser context with a new link. Problems in the browser fail the test. */
  open(path?: string, options?: BrowserContextOptions): Promise<Page>;
  /** Problems of this test that match are expected. */
  expectProblems(pattern: RegExp): void;
  /** Ends the process and waits for its end. */
  stop(): Promise<void>;
  /** Suspends the process: it keeps its connections, but does not respond. */
  suspend(): void;
  /** Continues the suspended process. */
  resume(): void;
  /** Starts it again, at the same port. */
  start(): Promise<void>;
}

/** Starts a gateway with its page before the tests of this file, and stops it after them. Call it at the top of a file. */
export function usePageGateway({ args, env: more = {}, keepsPort = false }: PageGatewayOptions): PageGateway {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "wirescope-page-")));
  const env = { PATH: process.env.PATH ?? "", HOME: folder, XDG_RUNTIME_DIR: join(folder, "run"), ...more };
  mkdirSync(env.XDG_RUNTIME_DIR, { mode: 0o700 });
  let url = "";
  let end: (() => Promise<void>) | undefined;
  let signal: (name: NodeJS.Signals) => void = () => {};
  let found: string[][] = [];
  let expected: RegExp[] = [];

  const start = async (): Promise<void> => {
    const port = !keepsPort ? "0" : url === "" ? String(await freePort()) : new URL(url).port;
    const options = ["up", "--json", "--no-browser", "--log", "off", "--port", port, ...args(folder)];
    const child = spawn(process.execPath, [program, ...options], {
      cwd: folder,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    signal = (name) => void child.kill(name);
    end = async () => {
      end = undefined;
      child.kill();
      await ended;
    };
    const [line] = await Promise.race([
      once(child.stdout.setEncoding("utf8"), "data"),
      ended.then(() => Promise.reject(new Error("The gateway ended before it was ready."))),
    ]);
    url = new URL(JSON.parse(line).endpoint).origin;
  };

  beforeAll(start);
  afterAll(async () => {
    await end?.();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    const problems = found.flat().filter((problem) => !expected.some((pattern) => pattern.test(problem)));
    found = [];
    expected = [];
    expect(problems).toEqual([]);
  });

  return {
    folder,
    env,
    get url() {
      return url;
    },
    async open(path = "/", options = {}) {
      const { page, problems } = await openPage(options);
      found.push(problems);
      const { stdout, stderr } = await runCommand(["page"], { env });
      if (!stdout.startsWith("http")) throw new Error(stderr);
      await page.goto(stdout.trim());
      await page.waitForURL((current) => current.search === "");
      if (path !== "/") await page.goto(new URL(path, url).href);
      await page.getByText("live", { exact: true }).waitFor();
      return page;
    },
    expectProblems: (pattern) => void expected.push(pattern),
    stop: async () => end?.(),
    suspend: () => signal("SIGSTOP"),
    resume: () => signal("SIGCONT"),
    start,
  };
}

/** Fails if axe finds a serious or critical problem in what the page shows. */
export async function checkAccessibility(page: Page): Promise<void> {
  // Without frames, which our pages do not have, and without passed rules: both take most of the time.
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ["violations"] });
  const { violations } = await axe.analyze();
  const severe = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  expect(
    severe.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`)}`),
  ).toEqual([]);
}

/**
 * Opens each address, waits for what it shows, and fails if axe finds a serious or critical problem in light or dark colours, or if the
 * page is wider than its window.
 */
export async function checkEveryView(page: Page, shown: Readonly<Record<string, Locator>>): Promise<void> {
  for (const [path, content] of Object.entries(shown)) {
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(new URL(path, page.url()).href);
    await content.waitFor();
    await checkAccessibility(page);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect([path, overflow]).toEqual([path, 0]);
    await page.emulateMedia({ colorScheme: "dark" });
    await checkAccessibility(page);
  }
}
