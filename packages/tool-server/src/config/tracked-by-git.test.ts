import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isTrackedByGit } from "./tracked-by-git.js";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "tracked-by-git-"));
});

afterEach(() => rmSync(root, { recursive: true }));

function git(...args: string[]): void {
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: root, stdio: "pipe" });
}

function write(...paths: string[]): void {
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
])("finds what is in an index of version %s with ids of %s", async (version, format) => {
  git("init", "--quiet", `--object-format=${format}`);
  write(...added, "b/.env", "env", ".en", ".env2");
  git("add", ...added.slice(0, -1));
  git("update-index", "--index-version", version);
  // An entry that is only intended has flags of its own, which version 2 does not know: it becomes version 3.
  git("add", "--intent-to-add", "b/intended");
  expect(readFileSync(join(root, ".git", "index")).readUInt32BE(4)).toBe(version === "2" ? 3 : 4);
  await expectFound();
});

test("finds what is in the index of a worktree", async () => {
  git("init", "--quiet");
  write("file");
  git("add", "file");
  git("commit", "--quiet", "--message=a");
  git("worktree", "add", "--quiet", "inner");
  const inner = join(root, "inner");
  write("inner/.env");
  expect(await isTrackedByGit(join(inner, ".env"))).toBe(false);
  execFileSync("git", ["add", ".env"], { cwd: inner });
  expect(await isTrackedByGit(join(inner, ".env"))).toBe(true);
  expect(await isTrackedByGit(join(root, ".env"))).toBe(false);
});

test("does not judge outside a repository, nor what is in the shared part of a split index", async () => {
  expect(await isTrackedByGit(join(root, ".env"))).toBeUndefined();
  git("init", "--quiet");
  expect(await isTrackedByGit(join(root, ".env"))).toBe(false);
  write(".env");
  git("add", ".env");
  git("update-index", "--split-index");
  expect(await isTrackedByGit(join(root, ".env"))).toBeUndefined();
});

test("a damaged index is not judged, or not further than it can be read", async () => {
  git("init", "--quiet");
  write(...added);
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
