import { isJsonObject } from "../../vault/json-object.js";
import type { JsonObject } from "../../vault/vault.js";
import { textList, textOf } from "../discovery/json-fields.js";
import type { TokenSet } from "../grants/token-response.js";
import type { OAuthContext } from "../oauth-context.js";

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
export function tokenRecordOf({ secrets }: Pick<OAuthContext, "secrets">, json: JsonObject): TokenRecord | undefined {
  const accessToken = textOf(json.accessToken);
  const refreshToken = textOf(json.refreshToken);
  for (const secret of [accessToken, refreshToken]) if (secret !== undefined) secrets.add(secret);
  const { tokenType, obtainedAt, expiresAt, clientId, proofKey } = json;
  const resource = textOf(json.resource);
  const isToken = accessToken !== undefined && (tokenType === "Bearer" || tokenType === "DPoP");
  if (!isToken || resource === undefined || typeof obtainedAt !== "number" || typeof clientId !== "string")
    return undefined;
  return {
    accessToken,
    tokenType,
    refreshToken,
    obtainedAt,
    expiresAt: typeof expiresAt === "number" ? expiresAt : undefined,
    scopes: textList(json.scopes),
    identity: textOf(json.identity),
    clientId,
    resource,
    requestedScopes: textList(json.requestedScopes) ?? [],
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
