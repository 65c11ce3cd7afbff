import { ToolServerError, type ToolServerErrorCode } from "../../errors.js";
import { isJsonObject, type JsonObject, stringList, stringOf } from "../../json-object.js";
import { type LockedEntry, type VaultEntry, type VaultKey, writeEntry } from "../vault/vault.js";
import type { OAuthContext } from "./oauth-context.js";
import { oauthFailure } from "./oauth-errors.js";
import type { OAuthOperation } from "./oauth-log.js";

/** The items of a login in the vault. The last is only the name of a lock. */
export type LoginItem = "issuer" | "client" | "tokens" | "failure" | "sign-in";

/** The vault key for an item of an issuer; the issuer is empty for items that exist before it is known. */
export function vaultKeyOf(
  { owner, profile, server, url, tenant }: Pick<OAuthContext, "owner" | "profile" | "server" | "url" | "tenant">,
  issuer: string,
  item: LoginItem,
): VaultKey {
  return { owner, profile, server, resource: url.href, issuer, tenant, item };
}

/** What a login stores in addition to its client and its tokens. */
export interface LoginStore {
  /** The authorization server, pinned by the first sign-in: only another sign-in can change it. Undefined before the first one. */
  readPin(): Promise<IssuerPin | undefined>;
  writePin(pin: IssuerPin): Promise<void>;
  /** Undefined also if the vault cannot be read: other operations report that. */
  readFailure(): Promise<LastFailure | undefined>;
  /** Does not reject. */
  keepFailure(operation: OAuthOperation, error: unknown): Promise<void>;
  /** Does not reject. */
  clearFailure(): Promise<void>;
}

/** The authorization server of the last sign-in. */
export interface IssuerPin {
  /** The issuer, exactly as published. */
  readonly issuer: string;
  /** Origins other than the issuer's that the user confirmed for sign-in. */
  readonly confirmedOrigins: readonly string[];
  /** The scopes that the last sign-in requested: kept until a sign-out, even if its tokens are gone. */
  readonly requestedScopes: readonly string[];
  /** Whether it published metadata; undefined if the default endpoints were used, or in an entry of an old version. */
  readonly isPublished?: true | undefined;
}

/** The last failure of a login, of any process: kept until a sign-in or a renewal succeeds, and until a sign-out. Contains no secret. */
export interface LastFailure {
  readonly operation: OAuthOperation;
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly error: ToolServerError;
}

/** Failures that say nothing about the login. */
const ignored: readonly ToolServerErrorCode[] = [
  "CREDENTIAL_CLOSED",
  "VAULT_LOCKED",
  "VAULT_UNREADABLE",
  "VAULT_KEY_WRONG",
  "KEYCHAIN_UNAVAILABLE",
];

export function createLoginStore(context: OAuthContext): LoginStore {
  const { vault, clock, secrets } = context;
  const pinKey = vaultKeyOf(context, "", "issuer");
  const failureKey = vaultKeyOf(context, "", "failure");
  const ignore = (): undefined => undefined;
  return {
    async readPin() {
      const entry = await vault.get(pinKey);
      if (entry === undefined) return undefined;
      const { confirmedOrigins, requestedScopes, isPublished } = entry.value;
      const issuer = stringOf(entry.value.issuer);
      if (issuer === undefined) throw unknownFormat(context, "the authorization server in the vault has");
      return {
        issuer,
        confirmedOrigins: stringList(confirmedOrigins) ?? [],
        requestedScopes: stringList(requestedScopes) ?? [],
        isPublished: isPublished === true ? true : undefined,
      };
    },
    async writePin({ issuer, confirmedOrigins, requestedScopes, isPublished }) {
      const value = {
        issuer,
        confirmedOrigins: [...confirmedOrigins],
        requestedScopes: [...requestedScopes],
        ...(isPublished === undefined ? {} : { isPublished }),
      };
      const kept = (await vault.get(pinKey))?.value;
      if (JSON.stringify(kept) !== JSON.stringify(value)) await writeEntry(vault, pinKey, value);
    },
    readFailure: () => vault.get(failureKey).then((entry) => entry && failureOf(entry.value), ignore),
    async keepFailure(operation, error) {
      if (!ToolServerError.is(error) || ignored.includes(error.code)) return;
      const { code, subject, problem, advice, details } = error;
      const { said, issuer, status } = details;
      const texts = { subject, problem, advice, ...(said && { said }), ...(issuer && { issuer }) };
      const shown = Object.entries(texts).map(([name, text]) => [name, secrets.redact(text)]);
      const value = { operation, at: clock.now(), code, ...Object.fromEntries(shown), ...(status && { status }) };
      await writeEntry(vault, failureKey, value).catch(ignore);
    },
    async clearFailure() {
      if ((await vault.get(failureKey).catch(ignore)) === undefined) return;
      await vault.withLock(failureKey, (entry) => entry.remove()).catch(ignore);
    },
  };
}

function unknownFormat(context: Pick<OAuthContext, "server" | "secrets">, what: string): ToolServerError {
  return oauthFailure(context, "VAULT_UNREADABLE", {
    problem: `${what} an unknown format.`,
    advice: "Sign in again, or use the version of Wirescope that wrote them.",
  });
}

/** The operations whose failures are kept; another version may keep others. */
const operations: readonly OAuthOperation[] = ["sign-in", "refresh", "step-up"];

function failureOf(json: JsonObject): LastFailure | undefined {
  const { at, status } = json;
  const operation = operations.find((each) => each === json.operation);
  const [code, problem] = [stringOf(json.code), stringOf(json.problem)];
  if (operation === undefined || code === undefined || problem === undefined || typeof at !== "number")
    return undefined;
  const parts = { subject: stringOf(json.subject) ?? "", problem, advice: stringOf(json.advice) ?? "" };
  const details = {
    said: stringOf(json.said),
    issuer: stringOf(json.issuer),
    status: typeof status === "number" ? status : undefined,
  };
  return { operation, at, error: new ToolServerError(code as ToolServerErrorCode, parts, { details }) };
}

/** The tokens of a token response. */
export interface TokenSet {
  readonly accessToken: string;
  readonly tokenType: "Bearer" | "DPoP";
  readonly refreshToken: string | undefined;
  /** When the access token expires, in milliseconds since the epoch; undefined if unknown. */
  readonly expiresAt: number | undefined;
  readonly obtainedAt: number;
  /** The granted scopes; undefined if they are the requested ones. */
  readonly scopes: readonly string[] | undefined;
  /** The user who signed in, from the claims of the identity token, which was received directly from the server. */
  readonly identity: string | undefined;
  /** Only of an identity provider: the identity token, whose expiry is that of the tokens, and its user (`sub`). */
  readonly idToken?: string | undefined;
  readonly subject?: string | undefined;
}

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
  throw unknownFormat(context, "the tokens in the vault have");
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
