import { ToolServerError } from "../../../errors.js";
import { isJsonObject, type JsonObject, stringList, stringOf } from "../../../json-object.js";
import type { Vault, VaultEntry, VaultKey } from "../../vault/vault.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import type { TokenSet } from "./token-request.js";

/** Tokens in a vault, and their revision. */
export interface HeldToken {
  readonly record: TokenRecord;
  readonly revision: string;
}

/** The tokens of one server, issuer and tenant in a vault. */
export interface TokenStore {
  read(): Promise<HeldToken | undefined>;
  /** Resolves once they are durable. */
  write(record: TokenRecord): Promise<HeldToken>;
  /**
   * Makes sure that there is space for new tokens, then runs `task` with a function that writes them. Rejects before the task if there
   * is no space.
   */
  reserve<T>(task: (write: (record: TokenRecord) => Promise<HeldToken>) => Promise<T>): Promise<T>;
  /** Deletes these tokens, unless they were replaced. */
  remove(held: HeldToken): Promise<boolean>;
  /** Deletes tokens of an unknown format, which `read` rejects. Resolves with whether there were any. */
  removeUnknown(): Promise<boolean>;
}

/** How long to wait for the lock of tokens: longer than a renewal with all its attempts, so that a caller that waits finds the result. */
export const tokenLockWaitMs = 60_000;
const writeTries = 3;

export function createTokenStore(
  context: Pick<OAuthContext, "server" | "secrets">,
  vault: Vault,
  key: VaultKey,
): TokenStore {
  const heldOf = ({ value, revision }: VaultEntry): HeldToken => {
    const record = tokenRecordOf(context, value);
    if (record !== undefined) return { record, revision };
    throw oauthFailure(context, "VAULT_UNREADABLE", {
      problem: "the tokens in the vault have an unknown format.",
      advice: "Sign in again, or use the version of Wirescope that wrote them.",
    });
  };
  const write = async (record: TokenRecord, put: (json: JsonObject) => Promise<VaultEntry>): Promise<HeldToken> => {
    const json = tokenRecordToJson(record);
    for (let tries = 1; ; tries += 1) {
      try {
        const { revision } = await put(json);
        return { record, revision };
      } catch (error) {
        if (tries === writeTries || !ToolServerError.is(error, "VAULT_UNREADABLE")) throw error;
      }
    }
  };
  return {
    async read() {
      const entry = await vault.get(key);
      return entry === undefined ? undefined : heldOf(entry);
    },
    write: (record) => write(record, (json) => vault.put(key, json)),
    reserve: (task) => vault.reserve(key, (put) => task((record) => write(record, put))),
    remove: ({ revision }) => vault.deleteIf(key, revision),
    async removeUnknown() {
      const entry = await vault.get(key);
      const isUnknown = entry !== undefined && tokenRecordOf(context, entry.value) === undefined;
      return isUnknown && vault.deleteIf(key, entry.revision);
    },
  };
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
function tokenRecordOf({ secrets }: Pick<OAuthContext, "secrets">, json: JsonObject): TokenRecord | undefined {
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
  vault: Vault,
  profile: string,
  grant: string,
  keptSubject?: string,
): Promise<void> {
  const { keys } = await vault.list();
  for (const key of keys.filter((each) => each.profile === profile && each.item === "tokens")) {
    const remove = async (): Promise<void> => {
      const entry = await vault.get(key);
      if (entry?.value.grant !== grant || (keptSubject !== undefined && entry.value.subject === keptSubject)) return;
      await vault.deleteIf(key, entry.revision);
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
