const reasons: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  EACCES: "permission denied",
  EISDIR: "it is a folder",
  ENOTDIR: "part of its path is not a folder",
};

/** Why a file cannot be read, with the error code. */
export function fileReason(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown reason";
  const reason = reasons[code];
  return reason === undefined ? code : `${reason} (${code})`;
}
