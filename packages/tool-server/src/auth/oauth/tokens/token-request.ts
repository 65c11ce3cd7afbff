import type { ToolServerError } from "../../../errors.js";
import { authenticateClient, type OAuthClient } from "../clients/oauth-client.js";
import { deviceGrant } from "../clients/register-client.js";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, urlText } from "../oauth-errors.js";
import {
  formRequest,
  isPassingStatus,
  type OAuthAnswer,
  peerErrorOf,
  sendOAuthRequest,
} from "../requests/oauth-request.js";
import type { AuthorizationAttempt } from "../sign-in/authorization-code.js";
import { createProof, type ProofKey } from "./proof-key.js";
import { parseTokens, type TokenSet } from "./token-response.js";

/** A request at a token endpoint. */
export interface TokenRequest {
  readonly server: AuthorizationServer;
  /** The client; none where the grant itself shows who asks. */
  readonly client: OAuthClient | undefined;
  /** The grant and its parameters. */
  readonly form: Readonly<Record<string, string>>;
  /** The key that the tokens are to be bound to, if any. */
  readonly key?: ProofKey | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a token endpoint answered: tokens, or a refusal with the error code of OAuth where it named one. */
export type TokenOutcome =
  | { readonly kind: "tokens"; readonly tokens: TokenSet }
  | { readonly kind: "refused"; readonly error: string | undefined; readonly failure: ToolServerError };

/**
 * Asks a token endpoint once; twice where it wants a nonce in the proof. Rejects with SERVER_UNREACHABLE or SERVER_FAILED for
 * what may pass, and as `sendOAuthRequest` does. A refusal is TOKEN_REFUSED.
 */
export async function requestTokens(context: OAuthContext, request: TokenRequest): Promise<TokenOutcome> {
  const { server } = request;
  const requestedAt = context.clock.now();
  let answer = await sendTokenRequest(context, request);
  const nonce = answer.headers["dpop-nonce"];
  if (request.key !== undefined && nonce !== undefined && answer.json?.error === "use_dpop_nonce") {
    answer = await sendTokenRequest(context, request, nonce);
  }
  const peer = peerErrorOf(context, answer);
  // Some servers refuse with status 200 and an error.
  const tokens = peer.code === undefined ? parseTokens(context, answer, requestedAt) : peer.text;
  if (typeof tokens !== "string") return { kind: "tokens", tokens };
  const { status } = answer;
  const at = urlText(context, server.tokenEndpoint);
  if (isPassingStatus(status)) {
    const parts = { problem: `the token endpoint ${at} failed (${peer.text}).`, advice: "Try again later." };
    throw oauthFailure(context, "SERVER_FAILED", parts, { details: { status, said: peer.said } });
  }
  // What to do depends on the grant, which the caller knows.
  const parts = { problem: `the token endpoint ${at} gave no token: ${tokens}.`, advice: "" };
  const failure = oauthFailure(context, "TOKEN_REFUSED", parts, { details: { status, said: peer.said } });
  return { kind: "refused", error: peer.code, failure };
}

/** The tokens of an outcome. Throws its failure where there are none. */
export function tokensOf(outcome: TokenOutcome): TokenSet {
  if (outcome.kind === "refused") throw outcome.failure;
  return outcome.tokens;
}

async function sendTokenRequest(
  context: OAuthContext,
  { server, client, form, key, signal }: TokenRequest,
  nonce?: string,
): Promise<OAuthAnswer> {
  const body = new URLSearchParams(form);
  const headers = client === undefined ? {} : await authenticateClient(context, server, client, body);
  if (key !== undefined) {
    headers.dpop = await createProof(context, key, { method: "POST", url: server.tokenEndpoint, nonce });
  }
  return sendOAuthRequest(context, formRequest(server.tokenEndpoint, body, "a token", headers), signal);
}

/** The parameters of a token request. */
export type GrantForm = Readonly<Record<string, string>>;

/** A code for tokens. */
export function codeGrant(
  attempt: Pick<AuthorizationAttempt, "codeVerifier" | "redirectUri">,
  code: string,
  resource: string,
): GrantForm {
  const { codeVerifier, redirectUri } = attempt;
  return { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: codeVerifier, resource };
}

/** A refresh token for tokens, with the permissions that it has. */
export function refreshGrant(refreshToken: string, resource: string): GrantForm {
  return { grant_type: "refresh_token", refresh_token: refreshToken, resource };
}

/** The code of a device for tokens (RFC 8628). */
export function deviceCodeGrant(deviceCode: string, resource: string): GrantForm {
  return { grant_type: deviceGrant, device_code: deviceCode, resource };
}

/** A client's own tokens. */
export function clientCredentialsGrant(resource: string, scopes: readonly string[]): GrantForm {
  return { grant_type: "client_credentials", resource, ...scopeField(scopes) };
}

/** An assertion of another for tokens (RFC 7523): a workload's identity, or what an identity provider grants a person. */
export function assertionGrant(assertion: string, resource: string, scopes: readonly string[]): GrantForm {
  return {
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion,
    resource,
    ...scopeField(scopes),
  };
}

function scopeField(scopes: readonly string[]): GrantForm {
  return scopes.length === 0 ? {} : { scope: scopes.join(" ") };
}
