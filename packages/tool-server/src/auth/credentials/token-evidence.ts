import type { TokenEvidence } from "../../causes/refusal-evidence.js";
import { isAuthorizationName, parseAuthorization } from "../../config/headers.js";
import type { HeaderDescription } from "../../connection-info.js";
import { parseUrl } from "../../url.js";
import { readTokenTimes } from "./json-web-token.js";

const tenantClaims =
  "tid tenant tenant_id org org_id organization organization_id workspace workspace_id account_id project_id team_id".split(
    " ",
  );
const maxValues = 10;

/** Reads times, audience, scopes and tenant from the JSON Web Token in a header; undefined if the value is not one. */
export function readTokenEvidence(
  header: Pick<HeaderDescription, "name" | "from" | "variables">,
  value: string,
  server: URL,
  say: (text: string) => string,
): TokenEvidence | undefined {
  const token = isAuthorizationName(header.name) ? parseAuthorization(value).credentials : value;
  const times = readTokenTimes(token);
  const claims = times === undefined ? undefined : readClaims(token);
  if (times === undefined || claims === undefined) return undefined;
  const audience = stringsOf(claims.aud);
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
        : stringsOf(scopes).flatMap((text) =>
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

/** Whether a token with this audience is meant for a server, by its origin or host; undefined if the audience is not a url. */
export function isMeantFor(audience: readonly string[], server: URL): boolean | undefined {
  const origin = (url: URL): string => `${url.protocol.replace(/^ws/, "http")}//${url.host}`;
  const urls = audience.flatMap((text) => (/^(https?|wss?):\/\//i.test(text) ? (parseUrl(text) ?? []) : []));
  if (urls.some((url) => origin(url) === origin(server))) return true;
  if (audience.includes(server.host) || audience.includes(server.hostname)) return true;
  return audience.length > 0 && urls.length === audience.length ? false : undefined;
}

function readClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function stringsOf(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((item): item is string => typeof item === "string" && item !== "").slice(0, maxValues);
}
