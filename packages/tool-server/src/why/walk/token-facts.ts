import { readTokenTimes } from "../../auth/credentials/json-web-token.js";
import { isAuthorizationName, parseAuthorization } from "../../config/headers.js";
import type { HeaderDescription } from "../../connection-info.js";
import { parseUrl } from "../../url.js";
import type { TokenFacts } from "../facts.js";

const tenantClaims =
  "tid tenant tenant_id org org_id organization organization_id workspace workspace_id account_id project_id team_id".split(
    " ",
  );
const mostValues = 10;

/** What the token of a header says of itself, where it is a JSON Web Token. Times, audience, scopes and tenant are told, and nothing else. */
export function tokenFactsOf(
  header: Pick<HeaderDescription, "name" | "from" | "variables">,
  value: string,
  server: URL,
  say: (text: string) => string,
): TokenFacts | undefined {
  const token = isAuthorizationName(header.name) ? parseAuthorization(value).credentials : value;
  const times = readTokenTimes(token);
  const claims = times === undefined ? undefined : claimsOf(token);
  if (times === undefined || claims === undefined) return undefined;
  const audience = textsOf(claims.aud);
  const scopes = claims.scope ?? claims.scp;
  return {
    header: header.name,
    from: header.from,
    variables: header.variables,
    ...times,
    audience: audience.map((text) => say(text)),
    isForServer: isMeantFor(audience, server),
    scopes:
      scopes === undefined
        ? undefined
        : textsOf(scopes).flatMap((text) =>
            text
              .split(/\s+/)
              .filter(Boolean)
              .map((scope) => say(scope)),
          ),
    tenants: tenantClaims.flatMap((claim) => {
      const value = claims[claim];
      return typeof value === "string" || typeof value === "number" ? [{ claim, value: say(String(value)) }] : [];
    }),
  };
}

/**
 * Whether a token of this audience is meant for a server: where it names a url, by its origin; an audience that is the name of
 * something tells nothing.
 */
export function isMeantFor(audience: readonly string[], server: URL): boolean | undefined {
  const origin = (url: URL): string => `${url.protocol.replace(/^ws/, "http")}//${url.host}`;
  const urls = audience.flatMap((text) => (/^(https?|wss?):\/\//i.test(text) ? (parseUrl(text) ?? []) : []));
  if (urls.some((url) => origin(url) === origin(server))) return true;
  if (audience.includes(server.host) || audience.includes(server.hostname)) return true;
  return audience.length > 0 && urls.length === audience.length ? false : undefined;
}

function claimsOf(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function textsOf(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((item): item is string => typeof item === "string" && item !== "").slice(0, mostValues);
}
