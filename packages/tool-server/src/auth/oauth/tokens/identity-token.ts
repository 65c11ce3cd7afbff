import { type JsonObject, parseJsonObject, stringOf } from "../../../json-object.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { OAuthContext } from "../oauth-context.js";

/** What an identity token must say. */
export interface ExpectedIdentity {
  readonly clientId: string;
  /** Of the authorization request. Default: any, also none. */
  readonly nonce?: string | undefined;
  /** The user who signed in, for a renewal (OpenID Connect Core, section 12.2). Default: any. */
  readonly subject?: string | undefined;
}

/** The user of an identity token. */
export interface IdentityClaims {
  readonly idToken: string;
  readonly subject: string;
  readonly identity: string;
  /** When it expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The last time that is a date; a later expiry is not believed. */
const maxSeconds = 8.64e12;

/**
 * Checks the claims of the identity token in a token response, or says what is wrong. Its signature needs no check, because it comes from
 * the token endpoint over TLS (OpenID Connect Core, section 3.1.3.7).
 */
export function checkIdentityToken(
  { clock }: Pick<OAuthContext, "clock">,
  { publishedIssuer }: Pick<AuthorizationServer, "publishedIssuer">,
  response: JsonObject | undefined,
  expected: ExpectedIdentity,
): IdentityClaims | string {
  const idToken = stringOf(response?.id_token);
  const claims = idToken === undefined ? undefined : claimsOf(idToken);
  if (idToken === undefined || claims === undefined) return "its response has no identity token";
  const { iss, aud, azp, exp, nonce } = claims;
  const subject = stringOf(claims.sub);
  const audiences = Array.isArray(aud) ? aud : [aud];
  // The metadata of Microsoft Entra ID for several tenants has a placeholder.
  const issuer = publishedIssuer.replace("{tenantid}", stringOf(claims.tid) ?? "");
  if (iss !== issuer) return "the identity token is of another issuer (iss)";
  if (!audiences.includes(expected.clientId)) return "the identity token is for another client (aud)";
  if (azp !== undefined && azp !== expected.clientId) return "the identity token is for another client (azp)";
  if (expected.nonce !== undefined && nonce !== expected.nonce) return "the identity token has another nonce";
  if (subject === undefined) return "the identity token names no user (sub)";
  if (expected.subject !== undefined && subject !== expected.subject) return "the identity token is of another user";
  if (typeof exp !== "number" || exp * 1000 <= clock.now()) return "the identity token has expired (exp)";
  const identity = stringOf(claims.email) ?? stringOf(claims.name) ?? subject;
  return { idToken, subject, identity: identity.slice(0, 200), expiresAt: exp <= maxSeconds ? exp * 1000 : 0 };
}

/** The claims of a token, without a check; undefined if it is not a JWT. */
export function claimsOf(token: string): JsonObject | undefined {
  return parseJsonObject(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
}
