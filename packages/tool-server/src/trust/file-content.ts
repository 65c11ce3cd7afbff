import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";

/** What is known of the content of a file. */
export type FileContent = { readonly state: "content"; readonly sha256: string } | { readonly state: FileState };

/**
 * Why there is no hash: nothing is there; it is a directory, or a pipe, socket or device; this user may not read it, though
 * perhaps run it; it is larger than is read; or a variable of the user decides which file it is.
 */
export type FileState = "missing" | "directory" | "special" | "unreadable" | "too-large" | "variable";

/** How many bytes may still be read. */
export interface ReadBudget {
  bytes: number;
}

/** The hash of a file, symbolic links followed. Never rejects. What it reads, it takes from the budget. */
export async function hashContent(path: string, budget: ReadBudget): Promise<FileContent> {
  try {
    const kind = kindOf(await stat(path));
    if (kind !== undefined) return { state: kind };
    // Between the two a pipe may have come: to open one must not wait for its other end.
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const opened = await handle.stat();
    const state = kindOf(opened) ?? (opened.size > budget.bytes ? "too-large" : undefined);
    return state === undefined ? await hashHandle(handle, budget) : { state };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return { state: code === "ENOENT" || code === "ENOTDIR" ? "missing" : "unreadable" };
  }
}

async function hashHandle(handle: FileHandle, budget: ReadBudget): Promise<FileContent> {
  const hash = createHash("sha256");
  const buffer = Buffer.alloc(1 << 18);
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length);
    if (bytesRead === 0) return { state: "content", sha256: hash.digest("hex") };
    budget.bytes -= bytesRead;
    if (budget.bytes < 0) return { state: "too-large" };
    hash.update(buffer.subarray(0, bytesRead));
  }
}

function kindOf(facts: { isFile(): boolean; isDirectory(): boolean }): "directory" | "special" | undefined {
  if (facts.isFile()) return undefined;
  return facts.isDirectory() ? "directory" : "special";
}
