import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Why a file is not safe, as a clause, and what to do about it. */
export interface Exposure {
  readonly reason: string;
  readonly advice: string;
}

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
export function judgeOwnership(facts: Ownership, user: number | undefined, isFolder = false): Exposure | undefined {
  if (user === undefined) return undefined;
  if (facts.uid !== 0 && facts.uid !== user) {
    return { reason: `it belongs to another user (${facts.uid})`, advice: "Make it your own with chown." };
  }
  const isSticky = isFolder && (facts.mode & 0o1000) !== 0;
  if ((facts.mode & 0o022) !== 0 && !isSticky) {
    return { reason: "others may write it", advice: "Take that away with chmod go-w." };
  }
  return undefined;
}

/** The same of the folder that holds a file: who may write there may put another file in its place. */
export async function judgeFolder(file: string): Promise<Exposure | undefined> {
  const folder = dirname(file);
  const exposure = judgeOwnership(await stat(folder), currentUser(), true);
  if (exposure === undefined) return undefined;
  return { reason: `its folder ${folder} is not safe: ${exposure.reason}`, advice: exposure.advice };
}
