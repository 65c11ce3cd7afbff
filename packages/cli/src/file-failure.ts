import { UsageError } from "./usage-error.js";

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "the file does not exist.",
  ENOTDIR: "part of its path is not a directory.",
  EISDIR: "it is a directory.",
  EACCES: "this user has no permission.",
  EPERM: "this user has no permission.",
  EROFS: "the file system is read-only.",
  ENOSPC: "the disk is full.",
};

/** Why a file cannot be read, as the end of a sentence. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!("code" in error)) return error.message;
  return reasons[String(error.code)] ?? `${String(error.code)}.`;
}

/** Why a file cannot be written, as the end of a sentence. */
export function writeReasonOf(error: unknown): string {
  const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
  return isMissing ? "the folder does not exist. Create it, or choose another one." : reasonOf(error);
}

/** The error for a file that an option or an argument names and that cannot be read. */
export function unreadable(path: string, option: string, error: unknown): UsageError {
  return new UsageError(`Cannot read the file ${path} (${option}): ${reasonOf(error)}`);
}
