import type { RevocationResult } from "./revocation.js";

/** What a sign-out did. Holds no secret. */
export interface SignOutReport {
  readonly server: string;
  /** Each set of tokens that was found; none where nobody was signed in. */
  readonly wiped: readonly WipedTokens[];
  /** Whether an access token that was found is still accepted by the tool server. */
  readonly proof: SignOutProof;
  /** What could not be read, and so could not be wiped: one line each. */
  readonly problems: readonly string[];
}

export interface WipedTokens {
  readonly issuer: string;
  /** Undefined where there was none. */
  readonly refreshToken: RevocationResult | undefined;
  readonly accessToken: RevocationResult;
}

export type SignOutProof =
  /** The tool server refused it. */
  | { readonly kind: "refused"; readonly status: number }
  /** The tool server still takes it, until it expires, where that is known; in milliseconds since the epoch. */
  | { readonly kind: "accepted"; readonly status: number; readonly until: number | undefined }
  /** The answer says neither. */
  | { readonly kind: "unclear"; readonly reason: string }
  /** There was no token to try. */
  | { readonly kind: "nothing" };
