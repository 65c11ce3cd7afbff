/** The command line was used wrongly: exit code 2, and a pointer to the help. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
