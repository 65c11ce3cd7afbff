/** What may be behind a refusal. */
export type RefusalCause =
  /** The request carried no credential. */
  | "nothing-sent"
  /** A value looks like the example of a document. */
  | "placeholder"
  /** Authorization lacks `Bearer ` or `Basic `. */
  | "scheme-missing"
  /** Authorization has its scheme twice, or nothing after it, or quotes around what follows. */
  | "credentials-malformed"
  /** The server asks for another scheme than was sent. */
  | "scheme-differs"
  /** The server asks for Authorization, and the credential is in another header. */
  | "wrong-header"
  | "token-expired"
  | "token-not-yet-valid"
  /** The clocks of the server and of this machine differ. */
  | "clock-skew"
  /** The server names a permission that is lacking. */
  | "scope-missing"
  /** What the server said of it. */
  | "server-says"
  /** The value comes from this variable. */
  | "variable"
  /** The value comes from the helper. */
  | "helper"
  /** A tenant or workspace was chosen. */
  | "tenant"
  /** The credential is good, but not for this. */
  | "permission";

/** One thing that may be behind a refusal. Holds no secret. */
export interface RefusalFinding {
  readonly cause: RefusalCause;
  /** Whether it alone explains the refusal, or is one of several things to check. */
  readonly weight: "explains" | "check";
  /** What is the matter and what to do, in a sentence or two. */
  readonly message: string;
  /** The header that it is about. */
  readonly header?: string | undefined;
  /** The variables that the header's value was made of. */
  readonly variables: readonly string[];
  /** The scheme to send it with, if another header is asked for. */
  readonly scheme?: string | undefined;
}
