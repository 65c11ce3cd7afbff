import type { VaultKey } from "../../vault/vault.js";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import type { OAuthContext } from "../oauth-context.js";
import { tellEvent } from "../oauth-event.js";
import type { ClientStore } from "../registration/client-store.js";
import { type OAuthSessionOptions, vaultKeyOf } from "../session/session-options.js";
import type { TokenRecord } from "../tokens/token-record.js";
import { createTokenStore, tokenLockWaitMs } from "../tokens/token-store.js";
import { proveRefusal } from "./prove-refusal.js";
import { type RevocationResult, revokeToken } from "./revocation.js";
import type { SignOutReport, WipedTokens } from "./sign-out-report.js";

export interface SignOutParts {
  readonly context: OAuthContext;
  readonly options: OAuthSessionOptions;
  readonly clients: ClientStore;
  readonly serverOf: (issuer: string) => Promise<AuthorizationServer>;
}

/**
 * Ends the sign-in to a tool server: revokes the tokens of every issuer where that can be done, wipes them whatever comes, also those that
 * another process wrote in the meantime, and tries the last access token once. The client and the pinned issuer stay.
 */
export async function signOut(parts: SignOutParts, signal?: AbortSignal): Promise<SignOutReport> {
  const { context, options } = parts;
  const { keys, unreadable } = await options.vault.list();
  const problems = [...unreadable];
  const own = keys.filter((key) => isSame(key, vaultKeyOf(options, key.issuer, "tokens")));
  const wiped: WipedTokens[] = [];
  let last: TokenRecord | undefined;
  for (const { issuer } of own) {
    const key = vaultKeyOf(options, issuer, "tokens");
    const store = createTokenStore(context, options.vault, key);
    const wipe = async (): Promise<void> => {
      for (let held = await store.read(); held !== undefined; held = await store.read()) {
        wiped.push(await revokeAll(parts, issuer, held.record, signal));
        if (last === undefined || held.record.obtainedAt >= last.obtainedAt) last = held.record;
        await store.remove(held);
      }
    };
    try {
      await options.vault.withLock(key, wipe, { signal, waitMs: tokenLockWaitMs });
    } catch (error) {
      problems.push(error instanceof Error ? error.message : "unknown");
    }
  }
  const proof = last === undefined ? ({ kind: "nothing" } as const) : await proveRefusal(context, last, signal);
  const text =
    wiped.length === 0
      ? "Nobody was signed in."
      : `Signed out; the old token is ${proof.kind === "unclear" ? "in doubt" : proof.kind}.`;
  tellEvent(context, "signed-out", text, proof.kind === "accepted" ? "warning" : "info");
  return { server: context.server, wiped, proof, problems };
}

/** The refresh token first: where it goes, many servers take its access tokens with it. */
async function revokeAll(
  { context, clients, serverOf }: SignOutParts,
  issuer: string,
  { refreshToken, accessToken, clientId }: TokenRecord,
  signal: AbortSignal | undefined,
): Promise<WipedTokens> {
  let revoke: (token: string, hint: "access_token" | "refresh_token") => Promise<RevocationResult>;
  try {
    const server = await serverOf(issuer);
    const client = await clients.byId(server, clientId);
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
