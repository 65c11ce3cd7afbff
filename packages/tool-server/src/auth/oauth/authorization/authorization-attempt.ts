import { createHash, randomBytes } from "node:crypto";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-failure.js";
import type { OAuthClient } from "../registration/oauth-client.js";

/** What is recorded before the browser is sent away, and what its answer is held against. */
export interface AuthorizationAttempt {
  /** Where the person signs in. https, parsed and written anew: safe to hand to a program as one argument. */
  readonly url: URL;
  /** The issuer whose metadata was used, exactly as it was published. */
  readonly issuer: string;
  /** Whether an answer has to name its issuer. */
  readonly sendsIssuer: boolean;
  readonly state: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
}

export interface AuthorizationWish {
  readonly redirectUri: string;
  /** What the token is for (RFC 8707). */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** The thumbprint of the key that the tokens will be bound to (RFC 9449, section 10). */
  readonly keyThumbprint?: string | undefined;
}

/** Begins an authorization with PKCE (S256) and a state. Throws AUTHORIZATION_SERVER_INVALID if the server does not support it. */
export function createAuthorizationAttempt(
  context: OAuthContext,
  server: AuthorizationServer,
  client: OAuthClient,
  wish: AuthorizationWish,
): AuthorizationAttempt {
  const { redirectUri, resource, scopes, keyThumbprint } = wish;
  const { authorizationEndpoint, issuer, sendsIssuer } = server;
  if (authorizationEndpoint === undefined) {
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem: "its authorization server has no authorization endpoint, so nobody can sign in with a browser there.",
      advice: "Sign in by device, if it offers that, or ask its operator.",
    });
  }
  if (!server.offersPkce) {
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem:
        "its authorization server does not offer PKCE with S256 (code_challenge_methods_supported), so a stolen code could be used.",
      advice: "Its operator has to switch it on.",
    });
  }
  const codeVerifier = randomBytes(32).toString("base64url");
  const state = randomBytes(32).toString("base64url");
  context.secrets.add(codeVerifier);
  const parameters = {
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash("sha256").update(codeVerifier).digest("base64url"),
    code_challenge_method: "S256",
    state,
    resource,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
    // OpenID Connect (11) gives offline access only where the person was asked for consent.
    ...(scopes.includes("offline_access") ? { prompt: "consent" } : {}),
    ...(keyThumbprint === undefined ? {} : { dpop_jkt: keyThumbprint }),
  };
  const url = new URL(authorizationEndpoint);
  // To set one writes the whole query anew, so that everything in it is encoded.
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url, issuer, sendsIssuer, state, codeVerifier, redirectUri };
}
