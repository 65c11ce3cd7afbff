const reasons: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  EACCES: "permission denied",
  EISDIR: "it is a folder",
  ENOTDIR: "part of its path is not a folder",
};

/** The code of a system or OpenSSL error. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown reason";
}

/** Why a file cannot be read, with the error code. */
export function fileReason(cause: unknown): string {
  const code = codeOf(cause);
  const reason = reasons[code];
  return reason === undefined ? code : `${reason} (${code})`;
}
