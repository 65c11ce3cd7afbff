import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { open, stat } from "node:fs/promises";

/** Options for reading a file. */
export interface BoundedReadOptions {
  readonly maxBytes: number;
  /** Whether a symbolic link is followed; default true. A link fails with ELOOP otherwise. */
  readonly followLinks?: boolean;
}

/** Why a file is not read, in addition to the codes of the system. */
export type BoundedReadCode = "ERR_NOT_A_FILE" | "ERR_FILE_TOO_LARGE";

/**
 * Reads a regular file of at most `maxBytes`. Use it for every file in a folder that another party controls: a pipe, a device or
 * a link to one neither blocks nor fills the memory. Rejects with an error whose `code` is a `BoundedReadCode` or the system's.
 */
export async function readBoundedFile(path: string, options: BoundedReadOptions): Promise<Buffer> {
  const { maxBytes, followLinks = true } = options;
  // Opening a device can have side effects, so check before opening.
  if (followLinks && !(await stat(path)).isFile()) throw refusal("ERR_NOT_A_FILE");
  // A pipe may have taken its place since: O_NONBLOCK does not wait for a writer.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (followLinks ? 0 : constants.O_NOFOLLOW);
  await using handle = await open(path, flags);
  const stats = await handle.stat();
  if (!stats.isFile()) throw refusal("ERR_NOT_A_FILE");
  if (stats.size > maxBytes) throw refusal("ERR_FILE_TOO_LARGE");
  // The size is only a hint: a file may grow, and files of /proc report 0.
  const chunks: Buffer[] = [];
  for (let total = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(Math.min(maxBytes - total + 1, 65_536)));
    if (bytesRead === 0) return Buffer.concat(chunks);
    total += bytesRead;
    if (total > maxBytes) throw refusal("ERR_FILE_TOO_LARGE");
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

/** The same, for callers that cannot wait. Throws as `readBoundedFile` rejects. */
export function readBoundedFileSync(path: string, maxBytes: number): Buffer {
  if (!statSync(path).isFile()) throw refusal("ERR_NOT_A_FILE");
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw refusal("ERR_NOT_A_FILE");
    if (stats.size > maxBytes) throw refusal("ERR_FILE_TOO_LARGE");
    const buffer = Buffer.alloc(maxBytes + 1);
    let total = 0;
    for (let read = -1; read !== 0 && total <= maxBytes; total += read)
      read = readSync(descriptor, buffer, total, buffer.length - total, null);
    if (total > maxBytes) throw refusal("ERR_FILE_TOO_LARGE");
    return buffer.subarray(0, total);
  } finally {
    closeSync(descriptor);
  }
}

function refusal(code: BoundedReadCode): Error {
  const message = code === "ERR_NOT_A_FILE" ? "not a regular file" : "file exceeds the size limit";
  return Object.assign(new Error(message), { code });
}
