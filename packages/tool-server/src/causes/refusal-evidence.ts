import { keyHeaderIn } from "./peer-text.js";

/**
 * What is known about a 401 or 403. Contains no secret: everything was redacted when it was collected. An error has the first
 * part; `why` adds the rest from its walk.
 */
export interface RefusalEvidence {
  readonly status: number;
  /** The local time of the response, in milliseconds since the epoch. */
  readonly now: number;
  /** How far the server's clock is ahead of the local clock, in milliseconds; undefined if the response has no Date header. */
  readonly skewMs: number | undefined;
  /** The credential headers of the request. */
  readonly headers: readonly HeaderEvidence[];
  readonly challenge?: ChallengeEvidence | undefined;
  /** The JSON Web Tokens among those headers. */
  readonly tokens: readonly TokenEvidence[];
  /** The headers that select a tenant or workspace. */
  readonly tenants: readonly { readonly header: string; readonly value: string }[];
  /** The variables that select a tenant or workspace. */
  readonly tenantVariables: readonly string[];
  /** The helper script that returned some of the headers. */
  readonly helper?: { readonly path: string; readonly obtainedAt?: number | undefined } | undefined;
  /** Whether the server supports OAuth; undefined if the entry has its own credential, or if that is not known. */
  readonly oauth?: "supported" | "unsupported" | undefined;
  /** The stored sign-in; undefined if the entry does not use OAuth or the vault cannot be read. */
  readonly signIn?: SignInEvidence | undefined;
  /** The host and port of the server. */
  readonly host?: string | undefined;
  /** The response with its body, which only a walk reads. */
  readonly response?: ResponseEvidence | undefined;
  /** The resource identifier that the server publishes (RFC 9728). */
  readonly resource?: string | undefined;
}

/** A header of the request, without its value. */
export interface HeaderEvidence {
  readonly name: string;
  readonly from: "configuration" | "helper" | "oauth";
  /** The variables in its value. */
  readonly variables: readonly string[];
  /** Whether it carries a credential, by its own name or by the name of a variable in its value. */
  readonly isCredential: boolean;
  /** The scheme of Authorization, if it is a known one. */
  readonly scheme: string | undefined;
  /** What is wrong with the form of its value. */
  readonly defect?: HeaderDefect | undefined;
}

/** `undefined` and `null`: the text of such a value of JavaScript. `no-scheme`: a bare token. `no-credentials`: nothing after the scheme. `scheme-case`: `bearer` or `BASIC`. */
export type HeaderDefect =
  | "placeholder"
  | "undefined"
  | "null"
  | "no-scheme"
  | "no-credentials"
  | "scheme-doubled"
  | "quoted"
  | "basic-not-base64"
  | "scheme-case";

/** The WWW-Authenticate header. */
export interface ChallengeEvidence {
  readonly schemes: readonly string[];
  readonly error: string | undefined;
  readonly description: string | undefined;
  readonly scopes: readonly string[];
  readonly resourceMetadata: readonly string[];
  /** The header that it names for a key. */
  readonly keyHeader?: string | undefined;
}

/** The claims of a JSON Web Token that matter here. Its signature is not verified. */
export interface TokenEvidence {
  readonly header: string;
  readonly variables: readonly string[];
  readonly from: "configuration" | "helper" | "oauth";
  readonly issuedAt: number | undefined;
  readonly notBefore: number | undefined;
  readonly expiresAt: number | undefined;
  readonly audience: readonly string[];
  /** Whether the audience is the server; undefined if the audience and the url do not say. */
  readonly isForServer: boolean | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly tenants: readonly { readonly claim: string; readonly value: string }[];
}

/** An HTTP response. */
export interface ResponseEvidence {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly mediaType: string;
  /** The title of an HTML page; undefined if the body is not a page. */
  readonly title: string | undefined;
  /** The beginning of the body, on one line. */
  readonly excerpt: string;
  /** The redirect target, without the query. */
  readonly location: string | undefined;
  readonly retryAfter: string | undefined;
}

/** A response in a line or two. */
export function describeResponse(response: ResponseEvidence): string[] {
  const { method, path, status, mediaType, title, excerpt, location } = response;
  const type = mediaType === "" ? "" : ` (${mediaType})`;
  const page = title === undefined ? "" : `, a page${title === "" ? "" : ` titled ${JSON.stringify(title)}`}`;
  const redirect = location === undefined ? "" : `, a redirect to ${location}`;
  const body = title !== undefined || excerpt === "" ? [] : [`The response says: ${excerpt}`];
  return [`${method} ${path} returned ${status}${type}${page}${redirect}.`, ...body];
}

/** The refusal in a line or two. */
export function describeRefusal(refusal: RefusalEvidence): string[] {
  const { status, response } = refusal;
  return [
    ...(response === undefined ? [`The server returned ${status}.`] : describeResponse(response)),
    ...describeChallenge(refusal),
  ];
}

/** The error of the challenge, in a line; nothing if it contains none. */
export function describeChallenge({ challenge }: RefusalEvidence): string[] {
  const { error, description } = challenge ?? {};
  const said = [error, description].filter(Boolean).join(": ");
  return said === "" ? [] : [`The challenge says: ${said.replace(/\.$/, "")}.`];
}

/** The server's reason for a refusal, from its challenge and the body of the response. */
export function statedReason({ response, challenge }: RefusalEvidence): string {
  const { error, description } = challenge ?? {};
  return [error, description, response?.title, response?.excerpt].filter(Boolean).join(" ");
}

/** The header that the server names for a key, in its challenge or in the body of the response. */
export function namedKeyHeader(refusal: RefusalEvidence): string | undefined {
  return refusal.challenge?.keyHeader ?? keyHeaderIn(statedReason(refusal));
}

/** Whether the challenge asks for a token that OAuth issues. */
export function asksForToken(challenge: ChallengeEvidence | undefined): boolean {
  return challenge?.schemes.some((scheme) => /^(?:bearer|dpop)$/i.test(scheme)) ?? false;
}

/** The stored sign-in of a server that uses OAuth. */
interface SignInEvidence {
  readonly isSignedIn: boolean;
  readonly scopes: readonly string[] | undefined;
  /** Whether a new token can be obtained without a user; without a sign-in, only a grant does that. Default false. */
  readonly canRefresh?: boolean | undefined;
}
