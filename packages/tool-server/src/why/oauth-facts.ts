import type { OAuthEvent } from "../auth/oauth/oauth-context.js";
import type { OAuthDescription } from "../connection-info.js";
import type { FailureFacts } from "./failure-facts.js";

/** What a walk found of a sign-in by OAuth. */
export interface OAuthFacts {
  /** Where tokens rest, and what to know of it. */
  readonly vault?: { readonly summary: string; readonly warning: string | undefined } | undefined;
  readonly vaultFailure?: FailureFacts | undefined;
  /** What was stored before the walk; undefined where that could not be read. */
  readonly before?: OAuthDescription | undefined;
  /** What OAuth did during the walk, and earlier where the caller knows it. */
  readonly events: readonly OAuthEvent[];
  /** What the tool server says of itself; undefined where nobody asked it. */
  readonly resource?: ResourceLook | undefined;
  /** What its authorization server says of itself. */
  readonly authorization?: AuthorizationLook | undefined;
  readonly client?: ClientLook | undefined;
}

/** A sign-in that a server offers though the entry brings a token of its own. */
export interface OAuthOffer {
  /** The names of the headers that carry the token. */
  readonly headers: readonly string[];
  readonly issuer: string;
  /** Whether the authorization server registers clients by itself. */
  readonly canRegister: boolean;
  readonly evidence: readonly string[];
}

export interface ResourceLook {
  readonly outcome: "found" | "absent" | "foreign" | "failed";
  /** What was looked at and why it was passed over, or where it was found. */
  readonly evidence: readonly string[];
  readonly resource: string | undefined;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[] | undefined;
  /** Whether the challenge named the place. */
  readonly isNamed: boolean;
}

export interface AuthorizationLook {
  /** `default` is the server's own origin with the endpoints of the revision 2025-03-26, for there is no metadata at all. */
  readonly outcome: "found" | "default" | "absent" | "invalid" | "failed";
  readonly evidence: readonly string[];
  /** The issuer that was asked for. */
  readonly expectedIssuer: string;
  /** The issuer that the metadata names. */
  readonly publishedIssuer: string | undefined;
  /** The methods of PKCE; undefined where none are told. */
  readonly pkce: readonly string[] | undefined;
  readonly endpoints: readonly EndpointLook[];
  readonly scopes: readonly string[] | undefined;
  readonly takesMetadataDocuments: boolean;
  readonly sendsIssuer: boolean;
  /** The issuer of the last sign-in, where the server no longer names it. */
  readonly changedFrom: string | undefined;
}

export interface EndpointLook {
  /** As the metadata names it: `token_endpoint`. */
  readonly name: string;
  readonly url: string;
  /** Why it must not be used. */
  readonly defect: string | undefined;
}

export interface ClientLook {
  readonly kind: "configured" | "metadata-document" | "registered" | "none";
  /**
   * What the authorization server says of it: `closed` is one that registers nobody, `unclear` is all that a browser has
   * to find out.
   */
  readonly outcome: "accepted" | "dead" | "redirect-mismatch" | "closed" | "to-register" | "unclear";
  readonly redirectUri: string | undefined;
  readonly evidence: readonly string[];
}
