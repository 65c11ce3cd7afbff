/** The cause of a failure, as text for a trace. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node reports all addresses that it tried in one error, which has no message of its own.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(causeOf).join("; ");
  // The message of OpenSSL contains memory addresses and source lines; its reason is enough.
  if ("reason" in error && "library" in error) return `${error.reason} (${codeOf(error)})`;
  return error.message || codeOf(error) || error.name;
}

/** The code of an error, such as ECONNRESET, or else its name. */
export function codeOf(error: Error & { readonly code?: unknown }): string {
  return typeof error.code === "string" ? error.code : error.name;
}
