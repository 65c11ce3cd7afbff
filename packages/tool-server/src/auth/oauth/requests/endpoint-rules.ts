import { isLoopbackHost } from "../../../http/loopback.js";
import { parseUrl } from "../../../url.js";
import type { OAuthContext } from "../oauth-context.js";

type Rules = Pick<OAuthContext, "addresses" | "allowInsecureLoopback">;

// What a browser is started with goes through the hands of systems that split and expand: what they could take for their own
// stays out of the host and the path. The query is written again by us, which encodes it.
const plainPath = /^[\w\-.~%/:@+=,;!*]*$/;
const plainHost = /^(?:[a-z\d._-]+|\[[\da-f:.]+\])$/;
const longestUrl = 4096;

/**
 * The URL that an authorization server gave for one of its endpoints, or why it cannot be used: https alone, or http to a
 * loopback host behind the switch; without user, password and fragment.
 */
export function parseEndpoint(value: unknown, rules: Rules): URL | string {
  if (typeof value !== "string" || value === "") return "it is no text";
  if (value.length > longestUrl) return `it is longer than ${longestUrl} characters`;
  const url = /[\s\\\p{Cc}]/u.test(value) ? undefined : parseUrl(value);
  if (url === undefined) return "it is no absolute URL";
  return endpointDefect(url, rules) ?? url;
}

/** Why nothing is sent to this URL, or undefined where it is in order. */
export function endpointDefect(url: URL, { addresses, allowInsecureLoopback }: Rules): string | undefined {
  if (url.protocol !== "https:") {
    if (url.protocol !== "http:") return `its scheme is ${url.protocol.slice(0, -1)}, and only https is used`;
    if (!isLoopbackHost(url.hostname)) return "it is of http, and only https is used";
    if (!allowInsecureLoopback) return "it is of http; for a loopback host that has to be allowed first";
  }
  if (url.username !== "" || url.password !== "") return "it carries a user name or password";
  if (url.hash !== "") return "it has a fragment";
  if (!plainHost.test(url.hostname)) return "its host has characters that no host name has";
  if (!plainPath.test(url.pathname)) return "its path has characters that no endpoint needs";
  return addresses.hostDefect(url);
}

/**
 * Parameters of authorization requests and responses, and credentials, from the IANA registry of OAuth parameters. `audience` is not
 * one of an authorization request; some servers choose by it which of their services is meant. Also those by which large
 * services grant more than `scope` says: `user_scope` (Slack), `optional_scope` (HubSpot), `include_granted_scopes` (Google).
 */
const names: ReadonlySet<string> = new Set([
  "access_token",
  "acr_values",
  "authorization_details",
  "claims",
  "claims_locales",
  "client_assertion",
  "client_assertion_type",
  "client_id",
  "client_secret",
  "code",
  "code_challenge",
  "code_challenge_method",
  "code_verifier",
  "display",
  "dpop_jkt",
  "error",
  "error_description",
  "error_uri",
  "grant_type",
  "id_token",
  "id_token_hint",
  "include_granted_scopes",
  "iss",
  "login_hint",
  "max_age",
  "nonce",
  "optional_scope",
  "prompt",
  "redirect_uri",
  "refresh_token",
  "registration",
  "request",
  "request_uri",
  "resource",
  "response_mode",
  "response_type",
  "scope",
  "state",
  "ui_locales",
  "user_scope",
]);

/**
 * An endpoint without the parameters of OAuth in its query: what is asked for is up to the client. RFC 6749 (3.1) keeps the rest, by
 * which servers choose a tenant or a policy.
 */
export function withoutOAuthParameters(endpoint: URL): URL {
  const url = new URL(endpoint);
  for (const name of new Set(url.searchParams.keys())) {
    if (names.has(plainName(name))) url.searchParams.delete(name);
  }
  return url;
}

/** A name as lenient servers read it: without regard to case, `scope[]` as `scope`, and `client.id` as `client_id`. */
function plainName(name: string): string {
  return (name.toLowerCase().split("[", 1)[0] ?? "").trim().replaceAll(/[. ]/g, "_");
}
