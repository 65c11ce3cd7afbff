import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, watch } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createBrowser } from "./e2e/browser.test.helper.js";
import { startGuardedToolServer } from "./e2e/guarded-tool-server.test.helper.js";
import { startRealAuthorizationServer } from "./e2e/real-authorization-server.test.helper.js";
import { readPathPage, startTracedGateway } from "./path-page.test.helper.js";

const page = readPathPage("sign-in-path.md");
const maxFiles = 45;

/** The files of the page's user interface that start a sign-in: what runs in a browser is not measured. */
function filesOfPage(): string[] {
  const folder = fileURLToPath(new URL("../packages/ui/src", import.meta.url));
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path))
    .filter((path) => /\b(?:actions|admin)\s*\.signIn\(/.test(readFileSync(join(folder, path), "utf8")))
    .map((path) => `ui/src/${path}`);
}

test("docs/sign-in-path.md lists exactly the files that run from a click on Sign in until the tokens are stored", async () => {
  const authorization = await startRealAuthorizationServer({ hasForms: true });
  const tool = await startGuardedToolServer(authorization);
  const folder = mkdtempSync(join(tmpdir(), "wirescope-vault-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const entry = { type: "http", url: tool.url };
  const gateway = await startTracedGateway({ warm: entry, one: entry, two: entry }, folder);
  const signIn = (server: string): Promise<readonly string[]> => gateway.signIn(server, createBrowser().signIn);
  // The first one also loads modules. Timers run too, so a file counts only if it runs in both of the others.
  await signIn("warm");
  const before = new Set(await signIn("one"));
  const locks: string[] = [];
  const watcher = watch(join(folder, "locks"), (event, name) => {
    if (event === "rename" && name?.endsWith(".lock")) locks.push(name);
  });
  onTestFinished(() => watcher.close());
  const measured = (await signIn("two")).filter((path) => before.has(path) && !page.isNotCounted(path));
  const ran = new Set([...filesOfPage(), ...measured]);
  // Each is created and removed.
  await expect.poll(() => locks.length % 2).toBe(0);
  expect({
    unlisted: [...ran].filter((path) => !page.files.includes(path)),
    missing: page.files.filter((path) => !ran.has(path)),
    locks: `${new Set(locks).size} lock files, ${locks.length / 2} times`,
  }).toEqual({ unlisted: [], missing: [], locks: /\d+ lock files, \d+ times/.exec(page.text)?.[0] });
});

test(`docs/sign-in-path.md lists files that exist, each once, and at most ${maxFiles}`, () => {
  expect(page.files.filter((path) => !existsSync(new URL(`../packages/${path}`, import.meta.url)))).toEqual([]);
  expect(new Set(page.files).size).toBe(page.files.length);
  expect(page.files.length).toBeGreaterThan(0);
  expect(page.files.length).toBeLessThanOrEqual(maxFiles);
});
