import { ToolServerError } from "../../errors.js";

/** What a system call says of itself, without its own path. */
export function systemReason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  const known: Record<string, string> = {
    EACCES: "this user is not allowed to",
    EPERM: "this user is not allowed to",
    EROFS: "the file system is read-only",
    ENOSPC: "the disk is full",
    EDQUOT: "the quota is used up",
    ELOOP: "it is a symbolic link",
    EISDIR: "it is a folder",
    ENOTDIR: "part of its path is not a folder",
    EMFILE: "too many files are open",
    EIO: "the disk failed",
  };
  return code === undefined ? "an unknown failure" : `${known[code] ?? "the system refused"} (${code})`;
}

/** The failure of a vault whose file or folder cannot be used. */
export function vaultUnreadable(path: string, problem: string, advice: string, cause?: unknown): ToolServerError {
  return new ToolServerError(
    "VAULT_UNREADABLE",
    { problem: `${path} ${problem}.`, advice },
    cause === undefined ? undefined : { cause },
  );
}

/** How to use another folder. What is stored in this one is not found there. */
export const otherFolder =
  "use another folder: set XDG_DATA_HOME to its absolute path, also for a running gateway, and sign in again.";

/** What helps against a failure of the system, by its code. */
const remedies: Readonly<Record<string, string>> = {
  EROFS: `Mount its file system with write access, or ${otherFolder}`,
  EACCES: `Give this user access to it, or ${otherFolder}`,
  EPERM: `Give this user access to it, or ${otherFolder}`,
  ENOSPC: `Free some space, or ${otherFolder}`,
  EDQUOT: `Free some space, or ${otherFolder}`,
  ELOOP: "Remove the link, and sign in again.",
};

/** A failure of the system as one of the vault; any other stays as it is. */
export function asVaultFailure(path: string, verb: "read" | "written" | "locked" | "created", error: unknown): unknown {
  if (!(error instanceof Error && "syscall" in error)) return error;
  const { code = "" } = error as NodeJS.ErrnoException;
  const advice = `What was stored before is unchanged. ${remedies[code] ?? "Fix that, and try again."}`;
  return vaultUnreadable(path, `cannot be ${verb}: ${systemReason(error)}`, advice, error);
}
