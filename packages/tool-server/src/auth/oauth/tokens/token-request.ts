import { providerHint } from "../../../causes/provider-codes.js";
import type { ToolServerError } from "../../../errors.js";
import { type JsonObject, type JsonValue, stringOf } from "../../../json-object.js";
import { authenticateClient, type OAuthClient } from "../clients/oauth-client.js";
import { deviceGrant } from "../clients/register-client.js";
import { knownIssuer } from "../discovery/known-issuers.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import { parseScopes } from "../discovery/scopes.js";
import type { TokenSet } from "../login-store.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, urlText } from "../oauth-errors.js";
import {
  formRequest,
  isTransientStatus,
  type OAuthResponse,
  peerErrorOf,
  sendOAuthRequest,
} from "../requests/oauth-request.js";
import { checkIdentityToken, claimsOf, type ExpectedIdentity } from "./identity-token.js";
import { createProof, type ProofKey } from "./proof-key.js";

interface TokenRequest {
  readonly server: AuthorizationServer;
  /** The client; undefined if the grant itself authenticates. */
  readonly client: OAuthClient | undefined;
  /** The grant and its parameters. */
  readonly form: Readonly<Record<string, string>>;
  /** The key to bind the tokens to, if any. */
  readonly key?: ProofKey | undefined;
  /** What the identity token of an identity provider must say, in addition to its client. */
  readonly identity?: Omit<ExpectedIdentity, "clientId"> | undefined;
  /** Called right before each request; if it rejects, nothing is sent. */
  readonly beforeRequest?: (() => Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The result of a token request: tokens, or a refusal with its OAuth error code, if there is one. */
export type TokenOutcome =
  | { readonly kind: "tokens"; readonly tokens: TokenSet }
  | {
      readonly kind: "refused";
      readonly error: string | undefined;
      readonly failure: ToolServerError;
      /** Whether tokens were issued that must not be used, so that the grant is probably used up. */
      readonly isSpent: boolean;
    };

/**
 * Sends a token request, and once more if the server demands a DPoP nonce. Rejects with SERVER_UNREACHABLE or SERVER_FAILED for
 * transient failures, and as `sendOAuthRequest` does. A refusal is TOKEN_REFUSED.
 */
export async function requestTokens(context: OAuthContext, request: TokenRequest): Promise<TokenOutcome> {
  const { server } = request;
  const requestedAt = context.clock.now();
  let response = await sendTokenRequest(context, request);
  const nonce = response.headers["dpop-nonce"];
  if (request.key !== undefined && nonce !== undefined && response.json?.error === "use_dpop_nonce") {
    response = await sendTokenRequest(context, request, nonce);
  }
  const peer = peerErrorOf(context, response);
  const { bearerTypes } = knownIssuer(server.issuer) ?? {};
  // Some servers refuse with status 200 and an error.
  const parsed = peer.code === undefined ? parseTokens(context, response, requestedAt, bearerTypes) : peer.text;
  const bound = typeof parsed === "string" ? parsed : (bindingDefect(parsed, request) ?? parsed);
  const tokens = typeof bound === "string" ? bound : withIdentity(context, request, response, bound);
  if (typeof tokens !== "string") return { kind: "tokens", tokens };
  const { status } = response;
  const at = urlText(context, server.tokenEndpoint);
  if (isTransientStatus(status)) {
    const parts = { problem: `the token endpoint ${at} failed (${peer.text}).`, advice: "Try again later." };
    throw oauthFailure(context, "SERVER_FAILED", parts, { details: { status, said: peer.said } });
  }
  const parts = {
    problem: `the token endpoint ${at} issued no usable token: ${tokens}.`,
    advice: providerHint(peer.said, server.issuer)?.advice ?? adviceOf(peer.code, request),
  };
  const failure = oauthFailure(context, "TOKEN_REFUSED", parts, {
    details: { status, said: peer.said, issuer: server.issuer },
  });
  return { kind: "refused", error: peer.code, failure, isSpent: typeof parsed !== "string" };
}

function withIdentity(
  context: OAuthContext,
  { server, client, identity: expected }: TokenRequest,
  { json }: OAuthResponse,
  tokens: TokenSet,
): TokenSet | string {
  if (!context.isIdentityProvider) return tokens;
  const identity = checkIdentityToken(context, server, json, { clientId: client?.clientId ?? "", ...expected });
  return typeof identity === "string" ? identity : { ...tokens, ...identity };
}

/** Why a token must not be used: a key that was sent means that binding is required, by the user or by the tool server. */
function bindingDefect({ tokenType }: TokenSet, { key }: TokenRequest): string | undefined {
  if (key !== undefined && tokenType === "Bearer")
    return "its token is not bound to our key (DPoP), as the server or its OAuth settings require";
  if (key === undefined && tokenType === "DPoP") return "its token is bound to a key (DPoP), and none was sent";
  return undefined;
}

const userGrants: readonly (string | undefined)[] = ["authorization_code", "refresh_token", deviceGrant];

/** What to do about a refusal with this OAuth error code. */
function adviceOf(code: string | undefined, { client, form }: TokenRequest): string {
  const ask = "Ask the operator of the authorization server.";
  const isUser = userGrants.includes(form.grant_type);
  switch (code) {
    case undefined:
      return ask;
    case "invalid_client":
    case "unauthorized_client":
      if (client?.kind !== "configured") return isUser ? "Sign in again." : ask;
      return "Check clientId and the secret or key in its OAuth settings, and that this client is still registered and enabled.";
    case "invalid_target":
      return "Ask the operator of the authorization server which resource it accepts, and set resource in its OAuth settings.";
    case "invalid_scope":
      return "Set scopes that it accepts in its OAuth settings.";
    case "invalid_grant":
      return isUser ? "Sign in again." : "Check the identity that is sent to it, and its clock.";
    default:
      return isUser ? "Sign in again; if it fails again, ask the operator of the authorization server." : ask;
  }
}

/** The tokens of an outcome. Throws its failure if it has none. */
export function tokensOf(outcome: TokenOutcome): TokenSet {
  if (outcome.kind === "refused") throw outcome.failure;
  return outcome.tokens;
}

async function sendTokenRequest(
  context: OAuthContext,
  { server, client, form, key, beforeRequest, signal }: TokenRequest,
  nonce?: string,
): Promise<OAuthResponse> {
  const body = new URLSearchParams(form);
  const headers = client === undefined ? {} : await authenticateClient(context, server, client, body);
  if (key !== undefined) {
    headers.dpop = await createProof(context, key, { method: "POST", url: server.tokenEndpoint, nonce });
  }
  await beforeRequest?.();
  const tokenRequest = formRequest(server.tokenEndpoint, body, "a token", headers);
  return sendOAuthRequest(context, { ...tokenRequest, limitMs: context.limits.tokenMs }, signal);
}

export type GrantForm = Readonly<Record<string, string>>;

/** The `scope` of a request, if there are any. */
export function scopeField(scopes: readonly string[]): GrantForm {
  return scopes.length === 0 ? {} : { scope: scopes.join(" ") };
}

/** The `resource` of a request (RFC 8707), if there is one. */
export function resourceField(resource: string | undefined): GrantForm {
  return resource === undefined ? {} : { resource };
}

/**
 * Parses a token response, or says why it contains no tokens. Its secrets are added to the registry first. The expiry counts from
 * `requestedAt`, so that it is never too late. `bearerTypes` are other values of `token_type` that mean Bearer.
 */
function parseTokens(
  { secrets }: Pick<OAuthContext, "secrets">,
  { status, json }: OAuthResponse,
  requestedAt: number,
  bearerTypes: readonly string[] = [],
): TokenSet | string {
  for (const name of ["access_token", "refresh_token", "id_token"]) {
    const secret = stringOf(json?.[name]);
    if (secret !== undefined) secrets.add(secret);
  }
  if (status !== 200 && status !== 201) return `status ${status}`;
  if (json === undefined) return "its response is not a JSON object";
  const accessToken = stringOf(json.access_token);
  if (accessToken === undefined) return "its response has no access_token";
  if (!/^[\x21-\x7e]+$/.test(accessToken)) return "its access_token contains characters that are invalid in a header";
  const type = stringOf(json.token_type) ?? "bearer";
  const tokenType = bearerTypes.includes(type) ? "Bearer" : tokenTypeOf(type);
  if (tokenType === undefined) return "its token_type is neither Bearer nor DPoP";
  const lifetimeMs = lifetimeOf(json.expires_in);
  return {
    accessToken,
    tokenType,
    refreshToken: stringOf(json.refresh_token),
    expiresAt: lifetimeMs === undefined ? undefined : requestedAt + lifetimeMs,
    obtainedAt: requestedAt,
    scopes: typeof json.scope === "string" ? parseScopes(json.scope) : undefined,
    identity: identityOf(json),
  };
}

function tokenTypeOf(text: string): TokenSet["tokenType"] | undefined {
  return (["Bearer", "DPoP"] as const).find((type) => type.toLowerCase() === text.toLowerCase());
}

/** In milliseconds; a lifetime of zero or less counts as unknown. Some servers send a string. */
function lifetimeOf(value: JsonValue | undefined): number | undefined {
  const seconds = typeof value === "string" && /^\d{1,12}$/.test(value) ? Number(value) : value;
  return typeof seconds === "number" && seconds > 0 && seconds < 1e12 ? seconds * 1000 : undefined;
}

function identityOf(json: JsonObject): string | undefined {
  const claims = claimsOf(stringOf(json.id_token) ?? "");
  const found = ["email", "preferred_username", "sub"].map((name) => claims?.[name]);
  return found.find((value): value is string => typeof value === "string" && value !== "")?.slice(0, 200);
}
