import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

const temporaryEnding = ".tmp";

/** A file was changed, but a power failure may undo that, because its folder could not be flushed. `cause` says why. */
export class UndurableChangeError extends Error {
  override readonly name = "UndurableChangeError";

  constructor(path: string, cause: unknown) {
    super(`${path} was changed, but a power failure may undo that.`, { cause });
  }
}

/** A name next to `path` for a file that is not finished yet. */
export function temporaryNameOf(path: string): string {
  return `${path}.${randomUUID()}${temporaryEnding}`;
}

/**
 * Replaces a file atomically, readable by its owner only. Resolves when the file survives a power failure; rejects with an
 * UndurableChangeError if it was replaced, but may not. If `beforeReplace` rejects, the old file stays.
 */
export async function writePrivateFile(path: string, text: string, beforeReplace?: () => Promise<void>): Promise<void> {
  const temporary = temporaryNameOf(path);
  try {
    await fillFile(await open(temporary, "wx", 0o600), text);
    await beforeReplace?.();
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncNameOf(path);
}

/** Replaces a file with another one, as `writePrivateFile` does; first writes `text` into that one, in the space that it has, if it is given. */
export async function publishPrivateFile(
  from: string,
  path: string,
  text?: string,
  beforeReplace?: () => Promise<void>,
): Promise<void> {
  await fillFile(await open(from, "r+"), text);
  await beforeReplace?.();
  await rename(from, path);
  await syncNameOf(path);
}

async function fillFile(file: FileHandle, text: string | undefined): Promise<void> {
  try {
    if (text !== undefined) {
      const content = Buffer.from(text);
      // Writes all of it, unlike `write`.
      await file.writeFile(content);
      await file.truncate(content.length);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Deletes a file durably: it does not come back after a power failure. */
export async function removePrivateFile(path: string): Promise<void> {
  await rm(path);
  await syncNameOf(path);
}

async function syncNameOf(path: string): Promise<void> {
  await syncFolder(dirname(path)).catch((error: unknown) => {
    throw new UndurableChangeError(path, error);
  });
}

/** Makes the names in a folder durable. Windows does not support it, and does not need it. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Keeps the file at `path` under another, unused name, and returns that name. */
export async function quarantine(path: string, now: Date = new Date()): Promise<string> {
  const stem = `${path}.corrupt-${now.toISOString().replaceAll(/[:.]/g, "-")}`;
  for (let count = 1; ; count += 1) {
    const aside = count === 1 ? stem : `${stem}-${count}`;
    try {
      // Not moved: until the new value replaces it, a reader finds the old one instead of nothing.
      await link(path, aside);
      return aside;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EEXIST") continue;
      if (code !== "EPERM") throw error;
      // A folder cannot be linked.
      await rename(path, aside);
      return aside;
    }
  }
}

/**
 * Deletes the temporary files that killed writers of a file left behind, once they are older than `ageMs`. Default 0, for callers
 * that know that no other process is writing it.
 */
export async function removeLeftoversOf(path: string, ageMs = 0): Promise<void> {
  const name = basename(path);
  // Exactly: temporary files of a lock of this file start with the name of the file as well.
  const length = basename(temporaryNameOf(path)).length;
  await removeOld(dirname(path), ageMs, (other) => other.startsWith(`${name}.`) && other.length === length);
}

/** Deletes the temporary files that killed writers left behind in a folder, once they are older than `ageMs`. */
export function removeLeftovers(folder: string, ageMs: number): Promise<void> {
  return removeOld(folder, ageMs, () => true);
}

async function removeOld(folder: string, ageMs: number, matches: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.endsWith(temporaryEnding) || !matches(name)) continue;
    const path = join(folder, name);
    try {
      if (ageMs === 0 || Date.now() - (await stat(path)).mtimeMs > ageMs) await rm(path);
    } catch (error) {
      // Another process cleans up as well.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}
