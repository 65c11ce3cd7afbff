import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";

/** What is looked at to tell who can change a file. */
export type Ownership = Pick<Stats, "uid" | "mode">;

/** The user of this process; undefined where the system has no such users, and then nothing is judged. */
export function currentUser(): number | undefined {
  return process.geteuid?.();
}

/**
 * Why others than root and this user could change a file, or undefined where none can. For a folder, `isFolder` accepts one
 * that many may write where nobody can rename what is another's.
 */
export function judgeOwnership(facts: Ownership, user: number | undefined, isFolder = false): string | undefined {
  if (user === undefined) return undefined;
  if (facts.uid !== 0 && facts.uid !== user) return `it belongs to another user (${facts.uid})`;
  const isSticky = isFolder && (facts.mode & 0o1000) !== 0;
  if ((facts.mode & 0o022) !== 0 && !isSticky) return "others may write it; take that away with chmod go-w";
  return undefined;
}

/** The same of the folder that holds a file: who may write there may put another file in its place. */
export async function judgeFolder(file: string): Promise<string | undefined> {
  const folder = dirname(file);
  const reason = judgeOwnership(await stat(folder), currentUser(), true);
  return reason === undefined ? undefined : `its folder ${folder} is not safe: ${reason}`;
}
