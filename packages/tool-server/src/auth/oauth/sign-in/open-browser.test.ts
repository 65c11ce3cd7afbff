import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hasBrowser, openBrowser } from "./open-browser.js";

let folder: string;
let seen: string;
let env: Record<string, string>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wirescope-browser-"));
  seen = join(folder, "seen");
  const browser = join(folder, "browser");
  writeFileSync(browser, `#!/bin/sh\nprintf '%s\\n' "$@" > '${seen}.part'; mv '${seen}.part' '${seen}'\n`);
  chmodSync(browser, 0o755);
  env = { BROWSER: browser, PATH: process.env.PATH ?? "" };
});

afterEach(() => rmSync(folder, { recursive: true }));

describe("openBrowser (CVE-2025-6514, CVE-2026-51997)", () => {
  test.each([
    "file:///bin/sh",
    "javascript:alert(1)",
    "http://as.example/authorize",
    "http://127.evil.example/",
    "http://localhost.evil.example/",
    "vscode://x",
    "-flag",
    "",
  ])("never opens the URL %j", async (url) => {
    expect(await openBrowser(url, { env }, "linux")).toBe(false);
    expect(existsSync(seen)).toBe(false);
  });

  test.each([
    ["https://as.example/a?b=$(touch pwned)&c=`id`", "https://as.example/a?b=$(touch%20pwned)&c=`id`"],
    ['https://as.example/"; touch pwned; "', "https://as.example/%22;%20touch%20pwned;%20%22"],
    ["https://as.example/a\nb", "https://as.example/ab"],
    ["http://127.0.0.1:4000/authorize", "http://127.0.0.1:4000/authorize"],
    ["http://[::1]:4000/", "http://[::1]:4000/"],
  ])("passes the URL as one argument, serialized again: %j", async (url, written) => {
    expect(await openBrowser(url, { env }, "linux")).toBe(true);
    await expect.poll(() => existsSync(seen)).toBe(true);
    expect(readFileSync(seen, "utf8")).toBe(`${written}\n`);
  });

  test("reports that it cannot open a URL that is too long for an argument", async () => {
    expect(await openBrowser(`https://as.example/?scope=${"x".repeat(200_000)}`, { env }, "linux")).toBe(false);
  });

  test.each([".", "", "tools", "./tools"])(
    "does not run a program of the current folder with PATH=%j",
    async (path) => {
      const here = process.cwd();
      mkdirSync(join(folder, "tools"));
      for (const at of ["xdg-open", "tools/xdg-open"]) copyFileSync(join(folder, "browser"), join(folder, at));
      try {
        process.chdir(folder);
        expect(await openBrowser("https://as.example/", { env: { DISPLAY: ":0", PATH: path } }, "linux")).toBe(false);
        expect(await openBrowser("https://as.example/", { env: { BROWSER: "./browser", PATH: path } }, "linux")).toBe(
          false,
        );
      } finally {
        process.chdir(here);
      }
      expect(existsSync(seen)).toBe(false);
    },
  );

  test("returns false if no program can open the URL", async () => {
    expect(await openBrowser("https://as.example/", { env: { BROWSER: join(folder, "none") } }, "linux")).toBe(false);
    expect(await openBrowser("https://as.example/", { env: {} }, "plan9")).toBe(false);
  });
});

test.each([
  [{}, "linux", false],
  [{ DISPLAY: ":0" }, "linux", true],
  [{ WAYLAND_DISPLAY: "wayland-0" }, "linux", true],
  [{ DISPLAY: ":10", SSH_CONNECTION: "a" }, "linux", false],
  [{ BROWSER: "/x", SSH_CONNECTION: "a" }, "linux", true],
  [{}, "darwin", true],
  [{ SSH_TTY: "/dev/pts/1" }, "darwin", false],
  [{}, "win32", true],
  [{}, "plan9", false],
] as const)("decides whether a browser can be opened with %j on %s: %s", (variables, platform, expected) => {
  expect(hasBrowser({ env: variables }, platform)).toBe(expected);
});
