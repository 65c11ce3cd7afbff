import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isIgnoredByGit, isTrackedByGit } from "./git-files.js";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "git-files-"));
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

test("returns undefined outside a repository", async () => {
  write(".gitignore", ".env\n");
  expect(await isIgnoredByGit(join(root, ".env"))).toBeUndefined();
});

test("skips rules and folders with which a hostile repository could make it run forever", async () => {
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

function git(...args: string[]): void {
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: root, stdio: "pipe" });
}

function writeFiles(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "A=1\n");
  }
}

const added = [".env", ".env.é", "a/.env", "a/b/.env", `a/${"long".repeat(40)}/.env`, "b/intended"];
const others = ["env", ".en", ".env2", "a", "a/b", "b/.env"];

async function expectFound(folder = root): Promise<void> {
  const found = await Promise.all([...added, ...others].map((path) => isTrackedByGit(join(folder, path))));
  expect(found).toEqual([...added.map(() => true), ...others.map(() => false)]);
}

test.each([
  ["2", "sha1"],
  ["4", "sha1"],
  ["2", "sha256"],
  ["4", "sha256"],
])("finds the files of an index of version %s with %s ids", async (version, format) => {
  git("init", "--quiet", `--object-format=${format}`);
  writeFiles(...added, "b/.env", "env", ".en", ".env2");
  git("add", ...added.slice(0, -1));
  git("update-index", "--index-version", version);
  // An intent-to-add entry has extended flags, which version 2 does not support, so git writes version 3.
  git("add", "--intent-to-add", "b/intended");
  expect(readFileSync(join(root, ".git", "index")).readUInt32BE(4)).toBe(version === "2" ? 3 : 4);
  await expectFound();
});

test("finds the files of the index of a worktree", async () => {
  git("init", "--quiet");
  writeFiles("file");
  git("add", "file");
  git("commit", "--quiet", "--message=a");
  git("worktree", "add", "--quiet", "inner");
  const inner = join(root, "inner");
  writeFiles("inner/.env");
  expect(await isTrackedByGit(join(inner, ".env"))).toBe(false);
  execFileSync("git", ["add", ".env"], { cwd: inner });
  expect(await isTrackedByGit(join(inner, ".env"))).toBe(true);
  expect(await isTrackedByGit(join(root, ".env"))).toBe(false);
});

test("returns undefined outside a repository, and for the shared part of a split index", async () => {
  expect(await isTrackedByGit(join(root, ".env"))).toBeUndefined();
  git("init", "--quiet");
  expect(await isTrackedByGit(join(root, ".env"))).toBe(false);
  writeFiles(".env");
  git("add", ".env");
  git("update-index", "--split-index");
  expect(await isTrackedByGit(join(root, ".env"))).toBeUndefined();
});

test("returns undefined for a damaged index, unless the file was found before the damage", async () => {
  git("init", "--quiet");
  writeFiles(...added);
  git("add", ...added);
  const path = join(root, ".git", "index");
  const index = readFileSync(path);
  const entries = index.lastIndexOf("b/intended");
  for (let length = 0; length < entries; length += 7) {
    writeFileSync(path, index.subarray(0, length));
    expect(await isTrackedByGit(join(root, "b/intended"))).toBeUndefined();
  }
  const huge = Buffer.from(index);
  huge.writeUInt32BE(0xffff_ffff, 8);
  writeFileSync(path, huge);
  expect(await isTrackedByGit(join(root, "none"))).toBeUndefined();
});
