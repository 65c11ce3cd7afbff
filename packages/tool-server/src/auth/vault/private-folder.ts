import { constants, type Stats } from "node:fs";
import { chmod, mkdir, open, readdir, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { ToolServerError } from "../../errors.js";
import { syncFolder, UndurableChangeError } from "../../files/private-file.js";
import { systemReason } from "../../files/system-reason.js";
import { maxEntryBytes } from "./vault.js";

/** Called with a warning about files that other users could have accessed, whose mode was corrected. */
export type Warn = (warning: string) => void;

const othersBits = 0o077;
const hasModes = process.platform !== "win32";

/**
 * Creates a folder that only its owner may access, and returns its real path. Corrects the mode of an existing one, and warns. Rejects
 * with VAULT_UNREADABLE if `isOurs` says that the names in it are not those of a vault.
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
    const stats = await stat(real);
    if (!stats.isDirectory()) throw notAFolder(real);
    checkOwner(real, stats);
    if (hasModes && (stats.mode & othersBits) !== 0) {
      if (!isOurs(await readdir(real))) {
        const problem = "is accessible to other users, and contains other files";
        throw vaultUnreadable(real, problem, `Move the other files away, or ${otherFolder}`);
      }
      await chmod(real, 0o700);
      warn(
        `Other users could access ${real}; its mode was corrected. Tokens are encrypted, but check who else uses it.`,
      );
    }
    return real;
  } catch (error) {
    throw asVaultFailure(path, "read", error);
  }
}

/** Creates a folder and its missing parents. Returns the first one that was created. */
async function makeFolder(path: string): Promise<string | undefined> {
  try {
    return await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw notAFolder(path);
    // On a read-only file system Node reports ENOENT; creating the parent reports the real reason.
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
 * The content of a file that only its owner may read; undefined if it does not exist. Corrects its mode, and warns. Rejects with
 * VAULT_UNREADABLE if it is not a regular file of limited size. Symbolic links are not followed.
 */
export async function readPrivateFile(path: string, warn: Warn): Promise<string | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      const problem = stats.isFile() ? (stats.size > maxEntryBytes ? "is too large" : undefined) : "is not a file";
      if (problem !== undefined) {
        throw vaultUnreadable(path, `${problem}: it was not written by Wirescope`, "Move it away.");
      }
      checkOwner(path, stats);
      if (hasModes && (stats.mode & othersBits) !== 0) {
        await file.chmod(0o600);
        warn(`Other users could read ${path}; its mode was corrected. Its content is encrypted.`);
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

function checkOwner(path: string, { uid }: Stats): void {
  const userId = process.geteuid?.();
  if (userId === undefined || userId === uid) return;
  const problem = `belongs to user ${uid}, and this process runs as user ${userId}`;
  throw vaultUnreadable(path, problem, `Run as the owner, or ${otherFolder}`);
}

/** The error for a file or folder of a vault that cannot be used. */
export function vaultUnreadable(path: string, problem: string, advice: string, cause?: unknown): ToolServerError {
  const parts = { problem: `${path} ${problem}.`, advice };
  return new ToolServerError("VAULT_UNREADABLE", parts, cause === undefined ? undefined : { cause });
}

/** How to use another folder. Tokens in this one are not found there. */
const otherFolder =
  "use another folder: set XDG_DATA_HOME to its absolute path, also for a running gateway, and sign in again.";

/** What to do about a system error, by its code. */
const remedies: Readonly<Record<string, string>> = {
  EROFS: `Mount its file system with write access, or ${otherFolder}`,
  EACCES: `Give this user access to it, or ${otherFolder}`,
  EPERM: `Give this user access to it, or ${otherFolder}`,
  ENOSPC: `Free some space, or ${otherFolder}`,
  EDQUOT: `Free some space, or ${otherFolder}`,
  ELOOP: "Remove the link, and sign in again.",
};

/** Converts a system error to VAULT_UNREADABLE; other errors stay as they are. */
export function asVaultFailure(path: string, verb: "read" | "written" | "locked" | "created", error: unknown): unknown {
  if (error instanceof UndurableChangeError) {
    const problem = `was changed, but a power failure may undo that: ${systemReason(error.cause)}`;
    return vaultUnreadable(path, problem, "Check the disk, and try again.", error);
  }
  if (!(error instanceof Error && "syscall" in error)) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  const advice = `The stored tokens are unchanged. ${remedies[code] ?? "Fix that, and try again."}`;
  return vaultUnreadable(path, `cannot be ${verb}: ${systemReason(error)}`, advice, error);
}
