import { type JsonObject, stringList } from "../../../json-object.js";
import { parseUrl } from "../../../url.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText, urlText } from "../oauth-errors.js";
import type { DiscoveryBudget } from "./discovery-budget.js";
import { parseScopes } from "./scopes.js";

/** The metadata of a tool server as a protected resource (RFC 9728). */
export interface ResourceMetadata {
  /** Its identifier, exactly as published, including a trailing slash. */
  readonly resource: string;
  /** The issuers of the authorization servers, as published. */
  readonly authorizationServers: readonly string[];
  /** The scopes for basic use; undefined if not published. */
  readonly scopes: readonly string[] | undefined;
  /** Whether it accepts only tokens that are bound to a key (DPoP). */
  readonly bindsTokens: boolean;
}

export interface ResourceSearch {
  readonly metadata: ResourceMetadata | undefined;
  /** Whether every url responded; otherwise a transient failure may have hidden the metadata. */
  readonly isCertain: boolean;
}

const wellKnown = "/.well-known/oauth-protected-resource";

/** How many urls of a challenge are tried, so that the well-known ones stay within the budget of a discovery. */
const maxChallenged = 4;

/** The urls of the metadata of a tool server: those of its challenge, then well-known with its path, then at the root. */
export function resourceMetadataUrls(server: URL, challenged: readonly string[] = []): URL[] {
  const path = server.pathname === "/" ? "" : server.pathname;
  const places = [
    ...[...new Set(challenged.filter((place) => parseUrl(place) !== undefined))].slice(0, maxChallenged),
    `${server.origin}${wellKnown}${path}${server.search}`,
    `${server.origin}${wellKnown}${path.replace(/\/$/, "")}`,
    `${server.origin}${wellKnown}`,
  ];
  return [...new Set(places.map((place) => new URL(place).href))].map((place) => new URL(place));
}

/** Parses resource metadata, or says why it does not describe this server. */
export function parseResourceMetadata(json: JsonObject, server: URL): ResourceMetadata | string {
  const { resource } = json;
  const url = typeof resource === "string" ? parseUrl(resource) : undefined;
  if (typeof resource !== "string" || url === undefined) return "it has no resource";
  if (!isPlain(resource, url) || !coversResource(url, server))
    return `it describes another resource, ${JSON.stringify(resource)}`;
  const scopes = stringList(json.scopes_supported);
  return {
    resource,
    authorizationServers: stringList(json.authorization_servers) ?? [],
    scopes: scopes === undefined ? undefined : parseScopes(scopes.join(" ")),
    bindsTokens: json.dpop_bound_access_tokens_required === true,
  };
}

/** Whether every parser reads a resource alike. It is sent as published, so another one could read another host in it. */
function isPlain(resource: string, { username, password }: URL): boolean {
  return !/[\s\\\p{Cc}]/u.test(resource) && username === "" && password === "";
}

/** Whether a resource is the server, or a parent path on the same origin. */
export function coversResource(resource: URL, server: URL): boolean {
  if (resource.origin !== server.origin || resource.hash !== "") return false;
  if (resource.search !== "" && resource.search !== server.search) return false;
  const above = resource.pathname.replace(/\/$/, "");
  const path = server.pathname.replace(/\/$/, "");
  return path === above || path.startsWith(`${above}/`);
}

/** Searches for the metadata of the tool server. Rejects with AUTHORIZATION_SERVER_INVALID if all of it describes other resources. */
export async function searchResourceMetadata(
  context: OAuthContext,
  budget: DiscoveryBudget,
  challenged?: readonly string[],
): Promise<ResourceSearch> {
  let foreign: string | undefined;
  let isCertain = true;
  for (const url of resourceMetadataUrls(context.url, challenged)) {
    const fetched = await budget.fetchJson(url, "resource metadata");
    if (fetched.kind === "found") {
      const metadata = parseResourceMetadata(fetched.json, context.url);
      if (typeof metadata !== "string") return { metadata, isCertain: true };
      if (typeof fetched.json.resource === "string")
        foreign ??= `${urlText(context, url)}: ${peerText(context, metadata)}`;
    }
    if (fetched.kind === "failed") isCertain = false;
  }
  if (foreign !== undefined) {
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem: `its resource metadata describes another server (${foreign}). A token could be used there, so none is requested.`,
      advice: "Check the url of the server, or report this to its operator.",
    });
  }
  return { metadata: undefined, isCertain };
}
