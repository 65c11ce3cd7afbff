import type { VaultKey } from "../../vault/vault.js";
import type { ClientStore } from "../clients/client-store.js";
import { authenticateClient, type OAuthClient } from "../clients/oauth-client.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import { parseResourceChallenge } from "../discovery/resource-challenge.js";
import { type OAuthContext, vaultKeyOf } from "../oauth-context.js";
import { formRequest, peerErrorOf, sendOAuthRequest } from "../requests/oauth-request.js";
import { createProof, proofKeyOf } from "../tokens/proof-key.js";
import { createTokenStore, type TokenRecord, tokenLockWaitMs } from "../tokens/token-store.js";

export interface SignOutParts {
  readonly context: OAuthContext;
  /** The clients that the tokens under a key were issued to. */
  readonly clientsOf: (key: VaultKey) => ClientStore;
  readonly serverOf: (issuer: string) => Promise<AuthorizationServer>;
}

/** Options of a sign-out. */
export interface SignOutOptions {
  /** Whether the tokens of the server for other URLs and tenants are deleted too. Default false. */
  readonly isEverywhere?: boolean | undefined;
}

/**
 * Signs out of a tool server: revokes the tokens of every issuer if it supports that, deletes them in any case, including those that
 * another process wrote meanwhile, and sends the last access token once. The registration of the client is deleted too, so that the next
 * sign-in registers it again; the pinned issuer stays.
 */
export async function signOut(
  parts: SignOutParts,
  signal?: AbortSignal,
  { isEverywhere = false }: SignOutOptions = {},
): Promise<SignOutReport> {
  const { context } = parts;
  const { profile, server, vault } = context;
  const { keys, unreadable } = await vault.list();
  const problems = [...unreadable];
  const ofServer = keys.filter((key) => key.profile === profile && key.server === server);
  const all = ofServer.filter(({ item }) => item === "tokens");
  const isOwn = (key: VaultKey): boolean =>
    isSame(key, { ...vaultKeyOf(context, key.issuer, "tokens"), item: key.item });
  const wiped: WipedTokens[] = [];
  let last: TokenRecord | undefined;
  for (const key of isEverywhere ? all : all.filter(isOwn)) {
    const store = createTokenStore(context, vault, key);
    const wipe = async (): Promise<void> => {
      if (await store.removeUnknown()) {
        const accessToken = { kind: "failed", reason: "The tokens have an unknown format." } as const;
        wiped.push({ issuer: key.issuer, refreshToken: undefined, accessToken });
      }
      for (let held = await store.read(); held !== undefined; held = await store.read()) {
        wiped.push(await revokeAll(parts, key, held.record, signal));
        // A token for another URL is not sent to this one.
        if (isOwn(key) && (last === undefined || held.record.obtainedAt >= last.obtainedAt)) last = held.record;
        await store.remove(held);
      }
    };
    try {
      await vault.withLock(key, wipe, { signal, waitMs: tokenLockWaitMs });
    } catch (error) {
      problems.push(error instanceof Error ? error.message : "unknown");
    }
  }
  for (const key of ofServer.filter(({ item }) => item === "client")) {
    if (!isEverywhere && !isOwn(key)) continue;
    try {
      const entry = await vault.get(key);
      if (entry !== undefined) await vault.deleteIf(key, entry.revision);
    } catch (error) {
      problems.push(error instanceof Error ? error.message : "unknown");
    }
  }
  const proof = last === undefined ? ({ kind: "nothing" } as const) : await proveRefusal(context, last, signal);
  const text = wiped.length === 0 ? "Not signed in." : `Signed out; ${proofTexts[proof.kind]}.`;
  context.log.note("signed-out", text, proof.kind === "accepted" ? "warning" : "info");
  const remaining = isEverywhere ? [] : all.filter((key) => !isOwn(key)).map(remainingOf);
  return { server: context.server, wiped, proof, problems, remaining };
}

const proofTexts: Readonly<Record<SignOutProof["kind"], string>> = {
  refused: "the old token is refused",
  accepted: "the old token is accepted",
  unclear: "the old token is in an unknown state",
  nothing: "the old tokens were for other urls or tenants, so they were not tried",
};

function remainingOf({ resource, tenant }: VaultKey): RemainingTokens {
  const [url = ""] = resource.split("?", 1);
  return { url, tenant: describeTenant(tenant) };
}

/** The values of a tenant, for people. */
function describeTenant(tenant: string): string {
  try {
    return (JSON.parse(tenant) as [string, string][]).map(([name, value]) => `${name}=${value}`).join(", ");
  } catch {
    return tenant;
  }
}

/** The refresh token first: many servers revoke its access tokens with it. */
async function revokeAll(
  { context, clientsOf, serverOf }: SignOutParts,
  key: VaultKey,
  { refreshToken, accessToken, clientId }: TokenRecord,
  signal: AbortSignal | undefined,
): Promise<WipedTokens> {
  const { issuer } = key;
  let revoke: (token: string, hint: "access_token" | "refresh_token") => Promise<RevocationResult>;
  try {
    const server = await serverOf(issuer);
    const client = await clientsOf(key).byId(server, clientId);
    revoke = (token, hint) => revokeToken(context, server, client, token, hint, signal);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown";
    revoke = async () => ({ kind: "failed", reason });
  }
  const refresh = refreshToken === undefined ? undefined : await revoke(refreshToken, "refresh_token");
  return { issuer, refreshToken: refresh, accessToken: await revoke(accessToken, "access_token") };
}

function isSame(a: VaultKey, b: VaultKey): boolean {
  return (Object.keys(b) as (keyof VaultKey)[]).every((part) => a[part] === b[part]);
}

/** Sends an old token to its own tool server, with a ping, to check that it is refused. Never rejects. */
async function proveRefusal(
  context: OAuthContext,
  { accessToken, tokenType, proofKey, expiresAt }: TokenRecord,
  signal?: AbortSignal,
): Promise<SignOutProof> {
  const { http, url, limits } = context;
  try {
    const key = proofKey === undefined ? undefined : await proofKeyOf(context, proofKey);
    const proof = key === undefined ? undefined : await createProof(context, key, { method: "POST", url, accessToken });
    const response = await http.send({
      method: "POST",
      url,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `${tokenType} ${accessToken}`,
        ...(proof === undefined ? {} : { dpop: proof }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      headersTimeoutMs: limits.requestMs,
      signal,
    });
    response.discard();
    const { status } = response;
    if (status === 401 && parseResourceChallenge(response.headers["www-authenticate"]).error === "use_dpop_nonce")
      return { kind: "unclear", reason: "The server demanded a DPoP nonce, and did not check the token." };
    if (status === 401) return { kind: "refused", status };
    // A server may respond so before it checks the token, such as one with the legacy SSE transport with 405.
    const isUnclear = [403, 404, 405, 429].includes(status);
    // The response to the ping does not matter: the server accepted the token.
    if (status < 500 && !isUnclear && (status < 300 || status >= 400))
      return { kind: "accepted", status, until: expiresAt };
    return { kind: "unclear", reason: `The server responded with status ${status}.` };
  } catch (error) {
    return { kind: "unclear", reason: error instanceof Error ? error.message : "unknown" };
  }
}

/** The result of revoking a token. */
export type RevocationResult =
  | { readonly kind: "revoked" }
  /** The server does not revoke tokens of this kind. */
  | { readonly kind: "unsupported" }
  | { readonly kind: "failed"; readonly reason: string };

/** Revokes a token (RFC 7009). Never rejects: a sign-out continues in any case. */
async function revokeToken(
  context: OAuthContext,
  server: AuthorizationServer,
  client: OAuthClient | undefined,
  token: string,
  hint: "access_token" | "refresh_token",
  signal?: AbortSignal,
): Promise<RevocationResult> {
  if (server.revocationEndpoint === undefined) return { kind: "unsupported" };
  try {
    const form = new URLSearchParams({ token, token_type_hint: hint });
    const headers = client === undefined ? {} : await authenticateClient(context, server, client, form);
    const request = formRequest(server.revocationEndpoint, form, "a revocation", headers);
    const response = await sendOAuthRequest(context, request, signal);
    if (response.status >= 200 && response.status < 300) return { kind: "revoked" };
    const { code, text } = peerErrorOf(context, response);
    return code === "unsupported_token_type" ? { kind: "unsupported" } : { kind: "failed", reason: text };
  } catch (error) {
    return { kind: "failed", reason: error instanceof Error ? error.message : "unknown" };
  }
}

/** The result of a sign-out. Contains no secret. */
export interface SignOutReport {
  readonly server: string;
  /** Each set of tokens that was found; empty if there were none. */
  readonly wiped: readonly WipedTokens[];
  /** Whether the tool server still accepts an old access token. */
  readonly proof: SignOutProof;
  /** Entries that could not be read, and so not deleted: one line each. */
  readonly problems: readonly string[];
  /** The tokens of this server for other URLs and tenants, which were not deleted. */
  readonly remaining: readonly RemainingTokens[];
}

/** Tokens that a sign-out did not delete. */
export interface RemainingTokens {
  /** Without its query. */
  readonly url: string;
  /** Such as `WORKSPACE_ID=main`; empty if there is none. */
  readonly tenant: string;
}

/** The tokens that a sign-out deleted. */
export interface WipedTokens {
  readonly issuer: string;
  /** Undefined if there was none. */
  readonly refreshToken: RevocationResult | undefined;
  readonly accessToken: RevocationResult;
}

/** How a sign-out was verified. */
export type SignOutProof =
  /** The tool server refused it. */
  | { readonly kind: "refused"; readonly status: number }
  /** The tool server still accepts it, until it expires, if that is known; in milliseconds since the epoch. */
  | { readonly kind: "accepted"; readonly status: number; readonly until: number | undefined }
  /** The response shows neither. */
  | { readonly kind: "unclear"; readonly reason: string }
  /** There was no token to try. */
  | { readonly kind: "nothing" };
