import type { LockedEntry, VaultKey } from "../../vault/vault.js";
import type { ClientStore } from "../clients/client-store.js";
import { authenticateClient, type OAuthClient } from "../clients/oauth-client.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import { type TokenRecord, tokenLockWaitMs, tokenRecordOf, vaultKeyOf } from "../login-store.js";
import type { OAuthContext } from "../oauth-context.js";
import { formRequest, peerErrorOf, sendOAuthRequest } from "../requests/oauth-request.js";

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
 * another process wrote meanwhile. The registration of the client is deleted too, so that the next sign-in registers it again; the pinned
 * issuer stays.
 */
export async function signOut(
  parts: SignOutParts,
  signal?: AbortSignal,
  { isEverywhere = false }: SignOutOptions = {},
): Promise<SignOutReport> {
  const { context } = parts;
  const { owner, profile, server, vault } = context;
  const { keys, unreadable } = await vault.list({ owner, profile, server });
  const problems = [...unreadable];
  const all = keys.filter(({ item }) => item === "tokens");
  const isOwn = (key: VaultKey): boolean =>
    isSame(key, { ...vaultKeyOf(context, key.issuer, "tokens"), item: key.item });
  const wiped: WipedTokens[] = [];
  for (const key of isEverywhere ? all : all.filter(isOwn)) {
    const wipe = async (entry: LockedEntry): Promise<void> => {
      const stored = await entry.read();
      if (stored === undefined) return;
      const record = tokenRecordOf(context, stored.value);
      if (record === undefined) {
        const accessToken = { kind: "failed", reason: "The tokens have an unknown format." } as const;
        wiped.push({ issuer: key.issuer, refreshToken: undefined, accessToken });
      } else {
        wiped.push(await revokeAll(parts, key, record, signal));
      }
      await entry.remove();
    };
    try {
      await vault.withLock(key, wipe, { signal, waitMs: tokenLockWaitMs });
    } catch (error) {
      problems.push(error instanceof Error ? error.message : "unknown");
    }
  }
  for (const key of keys.filter(({ item }) => item === "client" || item === "failure")) {
    if (!isEverywhere && !isOwn(key)) continue;
    try {
      await vault.withLock(key, (entry) => entry.remove());
    } catch (error) {
      problems.push(error instanceof Error ? error.message : "unknown");
    }
  }
  const isRevoked = wiped.every(({ refreshToken = { kind: "revoked" }, accessToken }) =>
    [refreshToken, accessToken].every(({ kind }) => kind === "revoked"),
  );
  const text = isRevoked ? "Signed out." : "Signed out; not all tokens were revoked.";
  context.log.note("signed-out", wiped.length === 0 ? "Not signed in." : text, isRevoked ? "info" : "warning");
  const remaining = isEverywhere ? [] : all.filter((key) => !isOwn(key)).map(remainingOf);
  return { server: context.server, wiped, problems, remaining };
}

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
