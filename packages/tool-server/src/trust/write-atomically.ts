import { randomUUID } from "node:crypto";
import { open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Replaces a file, whole or not at all, whatever ends this process in between; only its user may read it. `mayCommit` is asked
 * once the new file is complete, and refuses by throwing. Rejects with the error of the system, and leaves the old file.
 */
export async function writeAtomically(file: string, text: string, mayCommit: () => Promise<void>): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    {
      await using handle = await open(temporary, "wx", 0o600);
      await handle.writeFile(text);
      // Without it, a machine that loses power may keep the new name of a file and not its content.
      await handle.sync();
    }
    await mayCommit();
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(file));
}

/** Deletes what writers left that were killed. Only for who knows that nobody is writing the file. */
export async function removeRemains(file: string): Promise<void> {
  const folder = dirname(file);
  const prefix = `${basename(file)}.`;
  for (const name of await readdir(folder)) {
    if (name.startsWith(prefix) && /^[0-9a-f-]{36}\.tmp$/.test(name.slice(prefix.length))) {
      await rm(join(folder, name), { force: true });
    }
  }
}

async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await open(folder, "r");
    await handle.sync();
  } catch {
    // Not every system lets a folder be synced. The file is in place all the same.
  }
}
