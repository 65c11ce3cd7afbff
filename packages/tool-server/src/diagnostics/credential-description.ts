/** The ways to sign in to a server. */
export type CredentialKind = "none" | "headers" | "helper" | "environment" | "oauth";

/** How a credential signs in. Holds no secret. */
export interface CredentialDescription {
  readonly kind: CredentialKind;
  /** One line for people. */
  readonly summary: string;
  readonly headers: readonly HeaderDescription[];
  /** The variables that a stdio server gets, and those of the user that they are made of. */
  readonly environment: readonly VariableDescription[];
  readonly helper?: HelperDescription | undefined;
  readonly oauth?: OAuthDescription | undefined;
}

/** What is known of a sign-in by OAuth, as of now. Holds no token. */
export interface OAuthDescription {
  /** Whether there is a token to send. */
  readonly isSignedIn: boolean;
  /** The authorization server, once it is known. */
  readonly issuer: string | undefined;
  /** Who signed in, as the authorization server says it. */
  readonly account: string | undefined;
  /** The permissions that were granted; undefined where nobody said. */
  readonly scopes: readonly string[] | undefined;
  /** When the access token expires, in milliseconds since the epoch; undefined where that is not known. */
  readonly expiresAt: number | undefined;
  /** When the token was obtained, by a sign-in or a refresh. */
  readonly obtainedAt: number | undefined;
  /** How the token is sent: alone, or with a proof that we hold its key. */
  readonly tokenType: "Bearer" | "DPoP" | undefined;
  readonly canRefresh: boolean;
  /** Until when a refresh that failed, or a token that was refused, is left alone. */
  readonly pausedUntil: number | undefined;
}

/** A header that is sent, without its value. */
export interface HeaderDescription {
  readonly name: string;
  readonly from: "configuration" | "helper" | "oauth";
  /** The scheme of an Authorization header, where it is a known one. */
  readonly scheme: string | undefined;
  /** The variables that its value is made of. */
  readonly variables: readonly string[];
}

/** A variable of a child, without its value. */
export interface VariableDescription {
  readonly name: string;
  readonly variables: readonly string[];
}

/** How a helper fares. Times are in milliseconds since the epoch. */
export interface HelperDescription {
  readonly path: string;
  /** How often it was run. */
  readonly runs: number;
  /** How often it failed since it last succeeded. */
  readonly failures: number;
  /** When the headers in use were obtained, and when they are no longer used. */
  readonly obtainedAt: number | undefined;
  readonly expiresAt: number | undefined;
  /** When it may be run again after a failure or a refusal; undefined where it may now. */
  readonly pausedUntil: number | undefined;
}
