/** Invalid usage: exit code 2. The message is followed by `next`, or by a pointer to the help. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** A sentence in place of the pointer to the help. */
  readonly next: string | undefined;

  constructor(message: string, { next, ...options }: ErrorOptions & { readonly next?: string } = {}) {
    super(message, options);
    this.next = next;
  }
}
