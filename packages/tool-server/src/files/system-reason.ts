/** Why a file cannot be read or written, without its path. */
export function systemReason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return "it is not UTF-8";
  const known: Record<string, string> = {
    ENOENT: "it does not exist",
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
