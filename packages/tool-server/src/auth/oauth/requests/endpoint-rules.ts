import { settingOfParameter } from "../../../oauth-parameters.js";
import { isLoopbackHost, parseUrl } from "../../../url.js";
import type { OAuthContext } from "../oauth-context.js";

type Rules = Pick<OAuthContext, "addresses" | "allowInsecureLoopback">;

// Programs that start a browser split and expand arguments: characters that they could interpret are not allowed in the host
// and the path. We encode the query ourselves.
const plainPath = /^[\w\-.~%/:@+=,;!*]*$/;
const plainHost = /^(?:[a-z\d._-]+|\[[\da-f:.]+\])$/;
const maxUrlLength = 4096;

/**
 * Parses an endpoint of an authorization server, or says why it is invalid: https only, or http to a loopback host if
 * allowed; without user, password and fragment.
 */
export function parseEndpoint(value: unknown, rules: Rules): URL | string {
  if (typeof value !== "string" || value === "") return "it is not a string";
  if (value.length > maxUrlLength) return `it is longer than ${maxUrlLength} characters`;
  const url = /[\s\\\p{Cc}]/u.test(value) ? undefined : parseUrl(value);
  if (url === undefined) return "it is not an absolute URL";
  return endpointDefect(url, rules) ?? url;
}

/** Why nothing may be sent to this URL; undefined if it is valid. */
export function endpointDefect(url: URL, { addresses, allowInsecureLoopback }: Rules): string | undefined {
  if (url.protocol !== "https:") {
    if (url.protocol !== "http:") return `its scheme is ${url.protocol.slice(0, -1)} instead of https`;
    if (!isLoopbackHost(url.hostname)) return "its scheme is http instead of https";
    if (!allowInsecureLoopback) return "its scheme is http, which is not enabled for loopback hosts";
  }
  if (url.username !== "" || url.password !== "") return "it contains a user name or password";
  if (url.hash !== "") return "it has a fragment";
  if (!plainHost.test(url.hostname)) return "its host contains invalid characters";
  if (!plainPath.test(url.pathname)) return "its path contains unusual characters";
  return addresses.hostDefect(url);
}

/**
 * Removes OAuth parameters from the query of an endpoint: the client decides what to request. The rest stays (RFC 6749, section 3.1):
 * servers select a tenant or a policy with it.
 */
export function withoutOAuthParameters(endpoint: URL): URL {
  const url = new URL(endpoint);
  for (const name of new Set(url.searchParams.keys())) {
    if (settingOfParameter(name) !== undefined) url.searchParams.delete(name);
  }
  return url;
}
