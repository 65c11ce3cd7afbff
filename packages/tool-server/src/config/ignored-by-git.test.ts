import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isIgnoredByGit } from "./ignored-by-git.js";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ignored-by-git-"));
});

afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function gitIgnores(path: string): boolean {
  try {
    execFileSync("git", ["-c", "core.excludesFile=", "check-ignore", "--quiet", "--no-index", path], { cwd: root });
    return true;
  } catch {
    return false;
  }
}

test("agrees with git for nested rules, negations, ignored folders and .git/info/exclude", async () => {
  execFileSync("git", ["init", "--quiet"], { cwd: root });
  write(".gitignore", "*.local\n/build/\n!keep.local\n.env\\ \n# .env\n");
  write("plugin/.gitignore", ".env\n!sub.local\n/anchored.vars\n");
  write("plugin/inner/.gitignore", "!.env\n");
  write("build/.gitignore", "!.env\n");
  write(".git/info/exclude", "excluded.vars\n");
  const paths = [
    ".env",
    "keep.local",
    "a.local",
    "plugin/.env",
    "plugin/sub.local",
    "plugin/anchored.vars",
    "plugin/inner/.env",
    "plugin/inner/anchored.vars",
    "build/.env",
    "deep/build/.env",
    "deep/excluded.vars",
  ];
  for (const path of paths) write(path, "A=1\n");
  const ours = await Promise.all(paths.map(async (path) => [path, await isIgnoredByGit(join(root, path))]));
  expect(ours).toEqual(paths.map((path) => [path, gitIgnores(path)]));
});

test("does not judge outside a repository", async () => {
  write(".gitignore", ".env\n");
  expect(await isIgnoredByGit(join(root, ".env"))).toBeUndefined();
});

test("rules and folders that a hostile repository made to take for ever are passed over", async () => {
  mkdirSync(join(root, ".git"));
  write(".gitignore", `${"a/**/".repeat(8)}z\n`);
  const folder = "a/".repeat(40);
  expect(await isIgnoredByGit(join(root, folder, ".env"))).toBe(false);
  write(".gitignore", ".env\n");
  expect(await isIgnoredByGit(join(root, folder, ".env"))).toBe(true);
  expect(await isIgnoredByGit(join(root, "a/".repeat(100), ".env"))).toBeUndefined();
});

test("reads only regular .gitignore files, as git does", async () => {
  mkdirSync(join(root, ".git"));
  write("rules", ".env\n");
  symlinkSync("rules", join(root, ".gitignore"));
  mkdirSync(join(root, "inner"));
  execFileSync("sh", ["-c", 'mkfifo "$0"', join(root, "inner", ".gitignore")]);
  expect(await isIgnoredByGit(join(root, "inner", ".env"))).toBe(false);
});
