import { type JsonObject, type JsonValue, stringOf } from "../../../json-object.js";
import { parseScopes } from "../discovery/scopes.js";
import type { OAuthContext } from "../oauth-context.js";
import type { OAuthAnswer } from "../requests/oauth-request.js";

/** What a token endpoint gave. */
export interface TokenSet {
  readonly accessToken: string;
  readonly tokenType: "Bearer" | "DPoP";
  readonly refreshToken: string | undefined;
  /** When the access token expires, in milliseconds since the epoch; undefined where nobody said. */
  readonly expiresAt: number | undefined;
  readonly obtainedAt: number;
  /** The permissions that were granted; undefined where they are those that were asked for. */
  readonly scopes: readonly string[] | undefined;
  /** What the server says of who signed in: the claims of its identity token, which came straight from it. */
  readonly identity: string | undefined;
}

/**
 * The tokens in an answer, or why it has none. All that is secret in it is made known first. An expiry counts from
 * `requestedAt`, so that it is never taken for later than it is.
 */
export function parseTokens(
  { secrets }: Pick<OAuthContext, "secrets">,
  { status, json }: OAuthAnswer,
  requestedAt: number,
): TokenSet | string {
  for (const name of ["access_token", "refresh_token", "id_token"]) {
    const secret = stringOf(json?.[name]);
    if (secret !== undefined) secrets.add(secret);
  }
  if (status !== 200 && status !== 201) return `status ${status}`;
  if (json === undefined) return "its answer is no JSON object";
  const accessToken = stringOf(json.access_token);
  if (accessToken === undefined) return "its answer has no access_token";
  if (!/^[\x21-\x7e]+$/.test(accessToken)) return "its access_token has characters that no header can carry";
  const tokenType = tokenTypeOf(stringOf(json.token_type) ?? "bearer");
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

/** In milliseconds; a lifetime of nothing or less is as good as unknown. Some servers write the number as a text. */
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
