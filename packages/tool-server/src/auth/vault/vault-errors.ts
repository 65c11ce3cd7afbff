import { ToolServerError } from "../../errors.js";

/** The reason of a failed system call, without its path. */
export function systemReason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  const known: Record<string, string> = {
    EACCES: "permission denied",
    EPERM: "operation not permitted",
    EROFS: "the file system is read-only",
    ENOSPC: "the disk is full",
    EDQUOT: "the disk quota is exceeded",
    ELOOP: "it is a symbolic link",
    EISDIR: "it is a folder",
    ENOTDIR: "part of its path is not a folder",
    EMFILE: "too many files are open",
    EIO: "I/O error",
  };
  return code === undefined ? "unknown error" : `${known[code] ?? "system error"} (${code})`;
}

/** The error for a file or folder of a vault that cannot be used. */
export function vaultUnreadable(path: string, problem: string, advice: string, cause?: unknown): ToolServerError {
  return new ToolServerError(
    "VAULT_UNREADABLE",
    { problem: `${path} ${problem}.`, advice },
    cause === undefined ? undefined : { cause },
  );
}

/** How to use another folder. Tokens in this one are not found there. */
export const otherFolder =
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

/** Turns a system error into one of the vault; other errors stay as they are. */
export function asVaultFailure(path: string, verb: "read" | "written" | "locked" | "created", error: unknown): unknown {
  if (!(error instanceof Error && "syscall" in error)) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  const advice = `The stored tokens are unchanged. ${remedies[code] ?? "Fix that, and try again."}`;
  return vaultUnreadable(path, `cannot be ${verb}: ${systemReason(error)}`, advice, error);
}
