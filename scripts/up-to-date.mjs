// Writes a folder again only if one of the files that it was made from has changed.

import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The directory of the checkout. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/** The record of a folder, which is not published. */
const recordName = ".built";

/**
 * Writes `folder` with `write`, unless it is up to date, and says so with `step`. `write` writes to a temporary folder, so that a running command keeps its files,
 * and returns the files that it read; those below `root` may be relative.
 */
export async function ensureUpToDate(folder, step, write) {
  if (isUpToDate(join(folder, recordName))) return;
  // Standard output is for the command that follows.
  console.error(`${step}.`);
  const aside = `${folder}.${process.pid}`;
  const inputs = await write(aside);
  const states = inputs.map((file) => [file, stateOf(file)]);
  writeFileSync(join(aside, recordName), JSON.stringify(Object.fromEntries(states)));
  rmSync(folder, { recursive: true, force: true });
  try {
    renameSync(aside, folder);
  } catch {
    // Another process has just written the same folder.
    rmSync(aside, { recursive: true, force: true });
  }
}

function isUpToDate(record) {
  try {
    const states = Object.entries(JSON.parse(readFileSync(record, "utf8")));
    return states.every(([file, state]) => stateOf(file) === state);
  } catch {
    // It does not exist, or an earlier version of this script wrote it.
    return false;
  }
}

/** Differs after each change of the file; null if it does not exist. */
function stateOf(file) {
  const stats = statSync(isAbsolute(file) ? file : join(root, file), { throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.mtimeMs} ${stats.size}`;
}
