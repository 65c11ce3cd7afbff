/** The command line was used wrongly: exit code 2, and what to do next, which is to read the help unless it says otherwise. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** A sentence in place of the pointer to the help. */
  readonly next: string | undefined;

  constructor(message: string, { next, ...options }: ErrorOptions & { readonly next?: string } = {}) {
    super(message, options);
    this.next = next;
  }
}
