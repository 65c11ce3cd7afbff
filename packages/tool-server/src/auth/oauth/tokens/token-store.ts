import { isJsonObject, type JsonObject, stringList, stringOf } from "../../../json-object.js";
import type { LockedEntry, VaultEntry } from "../../vault/vault.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import type { TokenSet } from "./token-request.js";

/** Tokens in a vault, and their revision. */
export interface HeldToken {
  readonly record: TokenRecord;
  readonly revision: string;
}

/** How long to wait for the lock of tokens: longer than a renewal with all its attempts, so that a caller that waits finds the result. */
export const tokenLockWaitMs = 60_000;

/** The tokens of a vault entry; undefined without one. Throws VAULT_UNREADABLE if their format is unknown. */
export function heldTokenOf(
  context: Pick<OAuthContext, "server" | "secrets">,
  entry: VaultEntry | undefined,
): HeldToken | undefined {
  if (entry === undefined) return undefined;
  const record = tokenRecordOf(context, entry.value);
  if (record !== undefined) return { record, revision: entry.revision };
  throw oauthFailure(context, "VAULT_UNREADABLE", {
    problem: "the tokens in the vault have an unknown format.",
    advice: "Sign in again, or use the version of Wirescope that wrote them.",
  });
}

/** Resolves once the tokens are durable. */
export async function writeTokens(entry: LockedEntry, record: TokenRecord): Promise<HeldToken> {
  const { revision } = await entry.write(tokenRecordToJson(record));
  return { record, revision };
}

/** Tokens as stored, with what is needed to renew them. */
export interface TokenRecord extends TokenSet {
  /** The client of the tokens; empty if there is none. */
  readonly clientId: string;
  /** Their resource (RFC 8707), as requested. */
  readonly resource: string;
  /** The requested scopes. */
  readonly requestedScopes: readonly string[];
  /** The key that they are bound to, with its private part. */
  readonly proofKey: JsonObject | undefined;
  /** The grant with which they were obtained without a user. Default: a user signed in. */
  readonly grant?: string | undefined;
  /** When the user signed in, in milliseconds since the epoch; renewals keep it. */
  readonly signedInAt?: number | undefined;
}

export function tokenRecordToJson(record: TokenRecord): JsonObject {
  const { scopes, requestedScopes, ...rest } = record;
  const json = {
    ...rest,
    requestedScopes: [...requestedScopes],
    ...(scopes === undefined ? {} : { scopes: [...scopes] }),
  };
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined)) as JsonObject;
}

/** Parses stored tokens, and adds them to the secrets; undefined if the format is unknown. */
export function tokenRecordOf({ secrets }: Pick<OAuthContext, "secrets">, json: JsonObject): TokenRecord | undefined {
  const accessToken = stringOf(json.accessToken);
  const refreshToken = stringOf(json.refreshToken);
  const idToken = stringOf(json.idToken);
  for (const secret of [accessToken, refreshToken, idToken]) if (secret !== undefined) secrets.add(secret);
  const { tokenType, obtainedAt, expiresAt, clientId, proofKey } = json;
  const resource = stringOf(json.resource);
  const isToken = accessToken !== undefined && (tokenType === "Bearer" || tokenType === "DPoP");
  if (!isToken || resource === undefined || typeof obtainedAt !== "number" || typeof clientId !== "string")
    return undefined;
  return {
    accessToken,
    tokenType,
    refreshToken,
    obtainedAt,
    expiresAt: typeof expiresAt === "number" ? expiresAt : undefined,
    scopes: stringList(json.scopes),
    identity: stringOf(json.identity),
    idToken,
    clientId,
    resource,
    requestedScopes: stringList(json.requestedScopes) ?? [],
    proofKey: isJsonObject(proofKey) ? proofKey : undefined,
    grant: stringOf(json.grant),
    subject: stringOf(json.subject),
    signedInAt: typeof json.signedInAt === "number" ? json.signedInAt : undefined,
  };
}

/** Deletes the tokens of all servers that were obtained with a grant, except those of the user with this subject. */
export async function removeTokensOf(
  { vault, owner, profile }: Pick<OAuthContext, "vault" | "owner" | "profile">,
  grant: string,
  keptSubject?: string,
): Promise<void> {
  const { keys } = await vault.list({ owner, profile, item: "tokens" });
  for (const key of keys) {
    const remove = async (entry: LockedEntry): Promise<void> => {
      const stored = await entry.read();
      if (stored?.value.grant !== grant || (keptSubject !== undefined && stored.value.subject === keptSubject)) return;
      await entry.remove();
    };
    // A request that runs stores its tokens first.
    await vault.withLock(key, remove, { waitMs: tokenLockWaitMs });
  }
}

/** The scopes of a token: the granted ones if known, otherwise the requested ones. */
export function scopesOf({
  scopes,
  requestedScopes,
}: Pick<TokenRecord, "scopes" | "requestedScopes">): readonly string[] {
  return scopes ?? requestedScopes;
}

/** A token is renewed this long before it expires, because requests take time and clocks differ. */
const maxMarginMs = 60_000;
/** A token is used at least this long, whatever its expiry; otherwise each request would renew it. */
const minKeptMs = 2000;

type Times = Pick<TokenSet, "expiresAt" | "obtainedAt">;

/** Whether to renew a token: in the last fifth of its lifetime, at most one minute before it expires. Never if its expiry is unknown. */
export function isDue({ expiresAt, obtainedAt }: Times, now: number): boolean {
  if (expiresAt === undefined) return false;
  const marginMs = Math.min(maxMarginMs, (expiresAt - obtainedAt) / 5);
  return now >= Math.max(expiresAt - marginMs, obtainedAt + minKeptMs);
}

export function isExpired({ expiresAt }: Times, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}
