import { type JsonObject, type JsonValue, stringOf } from "../../../json-object.js";
import { parseScopes } from "../discovery/scopes.js";
import type { OAuthContext } from "../oauth-context.js";
import type { OAuthResponse } from "../requests/oauth-request.js";

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
  /** The person who signed in, from the claims of the identity token, which was received directly from the server. */
  readonly identity: string | undefined;
}

/**
 * Parses a token response, or says why it contains no tokens. Its secrets are added to the registry first. The expiry counts from
 * `requestedAt`, so that it is never too late. `bearerTypes` are other values of `token_type` that mean Bearer.
 */
export function parseTokens(
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
  const [, payload] = (stringOf(json.id_token) ?? "").split(".");
  if (payload === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    if (typeof claims !== "object" || claims === null) return undefined;
    const found = ["email", "preferred_username", "sub"].map((name) => (claims as Record<string, unknown>)[name]);
    return found.find((value): value is string => typeof value === "string" && value !== "")?.slice(0, 200);
  } catch {
    return undefined;
  }
}
