import { constants, type Stats } from "node:fs";
import { chmod, mkdir, open, readdir, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { ToolServerError } from "../../errors.js";
import { syncFolder } from "../../files/durable-file.js";
import { maxEntryBytes } from "./vault-entry.js";
import { asVaultFailure, otherFolder, vaultUnreadable } from "./vault-errors.js";

/** Told what others could have read, and that it was mended. */
export type Warn = (warning: string) => void;

const othersBits = 0o077;
const hasModes = process.platform !== "win32";

/**
 * Makes the folder where it is not there, for its owner alone, and tells its real path. Mends who may enter, and warns; but where
 * `isOurs` says of the names in it that it is somebody else's, rejects with VAULT_UNREADABLE.
 */
export async function openPrivateFolder(
  path: string,
  warn: Warn,
  isOurs: (names: readonly string[]) => boolean,
): Promise<string> {
  try {
    const made = await makeFolder(path);
    if (made !== undefined) await syncFolder(dirname(made));
    const real = await realpath(path);
    const facts = await stat(real);
    if (!facts.isDirectory()) throw notAFolder(real);
    judgeOwner(real, facts);
    if (hasModes && (facts.mode & othersBits) !== 0) {
      if (!isOurs(await readdir(real))) {
        throw vaultUnreadable(
          real,
          "is open to others, and holds other things",
          `Move the other things away, or ${otherFolder}`,
        );
      }
      await chmod(real, 0o700);
      warn(`Others could enter ${real}; it is closed to them now. Tokens stay encrypted, but look who else uses it.`);
    }
    return real;
  } catch (error) {
    throw asVaultFailure(path, "read", error);
  }
}

/** Makes a folder and those above it if they are missing. Returns the first that was made. */
async function makeFolder(path: string): Promise<string | undefined> {
  try {
    return await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw notAFolder(path);
    // On a read-only file system Node reports ENOENT; the folder in which nothing can be made gives the real reason.
    throw asVaultFailure(path, "created", code === "ENOENT" ? await reasonAbove(path, error) : error);
  }
}

async function reasonAbove(path: string, otherwise: unknown): Promise<unknown> {
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) {
    const reason: unknown = await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => error);
    if ((reason as NodeJS.ErrnoException | undefined)?.code !== "ENOENT") return reason ?? otherwise;
  }
  return otherwise;
}

function notAFolder(path: string): ToolServerError {
  return vaultUnreadable(path, "is not a folder", `Move it away, or ${otherFolder}`);
}

/**
 * The text of a file that its owner alone may read; undefined where there is none. Mends who may read, and warns. Rejects with
 * VAULT_UNREADABLE where it is no such file: no link is followed, and nothing endless is read.
 */
export async function readPrivateFile(path: string, warn: Warn): Promise<string | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const facts = await file.stat();
      const problem = facts.isFile() ? (facts.size > maxEntryBytes ? "is too large" : undefined) : "is not a file";
      if (problem !== undefined) {
        throw vaultUnreadable(path, `${problem}: it was not written by Wirescope`, "Move it away.");
      }
      judgeOwner(path, facts);
      if (hasModes && (facts.mode & othersBits) !== 0) {
        await file.chmod(0o600);
        warn(`Others could read ${path}; they cannot any more. It was encrypted all the time.`);
      }
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw asVaultFailure(path, "read", error);
  }
}

function judgeOwner(path: string, { uid }: Stats): void {
  const us = process.geteuid?.();
  if (us === undefined || us === uid) return;
  const problem = `belongs to the user ${uid}, and this process runs as ${us}`;
  throw vaultUnreadable(path, problem, `Run as the owner, or ${otherFolder}`);
}
