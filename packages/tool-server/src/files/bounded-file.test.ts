import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readBoundedFile, readBoundedFileSync } from "./bounded-file.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bounded-file-"));
});

afterEach(() => rm(folder, { recursive: true }));

/** The content or the error code, which are the same for a caller that cannot wait. */
async function codeOf(path: string, maxBytes = 100, followLinks = true): Promise<unknown> {
  const fail = ({ code }: NodeJS.ErrnoException): unknown => code;
  const result = await readBoundedFile(path, { maxBytes, followLinks }).then(String, fail);
  if (followLinks) expect(await (async () => readBoundedFileSync(path, maxBytes))().then(String, fail)).toBe(result);
  return result;
}

describe("reading a bounded file", () => {
  test("returns the content up to exactly the limit, and fails beyond it", async () => {
    const path = join(folder, "file");
    await writeFile(path, "12345");
    expect(await codeOf(path, 5)).toBe("12345");
    expect(await codeOf(path, 4)).toBe("ERR_FILE_TOO_LARGE");
  });

  test.runIf(process.platform === "linux")("stops at the limit when the size is reported as 0", async () => {
    expect(await codeOf("/proc/self/status", 10)).toBe("ERR_FILE_TOO_LARGE");
  });

  test.skipIf(process.platform === "win32")("neither blocks on a pipe nor reads a device behind a link", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("sh", ["-c", 'mkfifo "$0"', pipe]);
    await symlink("/dev/zero", join(folder, "zero"));
    await mkdir(join(folder, "directory"));
    for (const name of ["pipe", "zero", "directory"]) expect(await codeOf(join(folder, name))).toBe("ERR_NOT_A_FILE");
    expect(await codeOf(pipe, 100, false)).toBe("ERR_NOT_A_FILE");
  });

  test("follows a link to a regular file unless disabled", async () => {
    await writeFile(join(folder, "file"), "text");
    await symlink("file", join(folder, "link"));
    expect(await codeOf(join(folder, "link"))).toBe("text");
    expect(await codeOf(join(folder, "link"), 100, false)).toBe("ELOOP");
  });
});
