import { ToolServerError } from "../../../errors.js";
import { isJsonObject, type JsonObject, stringList, stringOf } from "../../../json-object.js";
import type { Vault, VaultEntry, VaultKey } from "../../vault/vault.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import type { TokenSet } from "./token-response.js";

/** Tokens as they rest in a vault, and the writing that they are of. */
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
   * Makes sure that there is space for new tokens, then runs `task`, which gets how to write them. Rejects before the task if there
   * is none.
   */
  reserve<T>(task: (write: (record: TokenRecord) => Promise<HeldToken>) => Promise<T>): Promise<T>;
  /** Deletes them where they still are the ones that are meant. */
  remove(held: HeldToken): Promise<boolean>;
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
      problem: "the tokens in the vault are of a form that this version does not know.",
      advice: "Sign out and in again, or use the version that wrote them.",
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
  };
}

/** Tokens as they are kept, with what is needed to renew them. */
export interface TokenRecord extends TokenSet {
  /** The client that they were given to; empty where there was none. */
  readonly clientId: string;
  /** What they are for (RFC 8707), as it was asked for. */
  readonly resource: string;
  /** The permissions that were asked for. */
  readonly requestedScopes: readonly string[];
  /** The key that they are bound to, with its secret part. */
  readonly proofKey: JsonObject | undefined;
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

/** The record that was kept, its secrets made known; undefined where it is of another form. */
function tokenRecordOf({ secrets }: Pick<OAuthContext, "secrets">, json: JsonObject): TokenRecord | undefined {
  const accessToken = stringOf(json.accessToken);
  const refreshToken = stringOf(json.refreshToken);
  for (const secret of [accessToken, refreshToken]) if (secret !== undefined) secrets.add(secret);
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
    clientId,
    resource,
    requestedScopes: stringList(json.requestedScopes) ?? [],
    proofKey: isJsonObject(proofKey) ? proofKey : undefined,
  };
}

/** The permissions that a token has, as far as anybody said: those granted, else those asked for. */
export function scopesOf({
  scopes,
  requestedScopes,
}: Pick<TokenRecord, "scopes" | "requestedScopes">): readonly string[] {
  return scopes ?? requestedScopes;
}

/** So long before its expiry a token is renewed: a request takes its time, and clocks differ. */
const longestMarginMs = 60_000;
/** A token is taken for good at least so long after it came, whatever it says: else each request would renew it. */
const leastKeptMs = 2000;

type Times = Pick<TokenSet, "expiresAt" | "obtainedAt">;

/** Whether it is time to renew a token: in the last fifth of its life, one minute at most. Never where its expiry is unknown. */
export function isDue({ expiresAt, obtainedAt }: Times, now: number): boolean {
  if (expiresAt === undefined) return false;
  const marginMs = Math.min(longestMarginMs, (expiresAt - obtainedAt) / 5);
  return now >= Math.max(expiresAt - marginMs, obtainedAt + leastKeptMs);
}

/** Whether a token's time is over. */
export function isExpired({ expiresAt }: Times, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}
