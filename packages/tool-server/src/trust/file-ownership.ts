import type { Stats } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Why a file is not safe, as part of a sentence, and how to fix it. */
export interface Exposure {
  readonly reason: string;
  readonly advice: string;
}

/** The metadata that determines who can change a file. */
export type Ownership = Pick<Stats, "uid" | "mode">;

/** The user of this process; undefined on systems without user ids, on which nothing is checked. */
export function currentUser(): number | undefined {
  return process.geteuid?.();
}

/**
 * Why users other than root and this user could change a file; undefined if none can. For a folder, `isFolder` also accepts a sticky one,
 * which others can write to without renaming existing files.
 */
export function checkOwnership(stats: Ownership, user: number | undefined, isFolder = false): Exposure | undefined {
  if (user === undefined) return undefined;
  if (stats.uid !== 0 && stats.uid !== user) {
    return { reason: `it is owned by another user (${stats.uid})`, advice: "Change its owner with chown." };
  }
  const isSticky = isFolder && (stats.mode & 0o1000) !== 0;
  if ((stats.mode & 0o022) !== 0 && !isSticky) {
    return { reason: "other users can write to it", advice: "Remove that permission with chmod go-w." };
  }
  return undefined;
}

/** The same for the folder of a file: a user who can write there can replace the file. */
export async function checkFolder(file: string): Promise<Exposure | undefined> {
  const folder = dirname(file);
  const exposure = checkOwnership(await stat(folder), currentUser(), true);
  if (exposure === undefined) return undefined;
  return { reason: `its folder ${folder} is not safe: ${exposure.reason}`, advice: exposure.advice };
}

/** Whether a path has a file, or a link to one that is missing. */
export async function existsOrDangles(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
