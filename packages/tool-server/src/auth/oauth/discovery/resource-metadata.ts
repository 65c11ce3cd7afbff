import { type JsonObject, stringList } from "../../../json-object.js";
import { parseUrl } from "../../../url.js";
import { type OAuthContext, tellEvent } from "../oauth-context.js";
import { oauthFailure, peerText, urlText } from "../oauth-errors.js";
import type { DiscoveryBudget } from "./discovery-budget.js";

/** What a tool server says of itself as a protected resource (RFC 9728). */
export interface ResourceMetadata {
  /** Its name, exactly as it was published: a slash at the end belongs to it. */
  readonly resource: string;
  /** The issuers of the authorization servers, as they were published. */
  readonly authorizationServers: readonly string[];
  /** The permissions for basic use; undefined where none are told. */
  readonly scopes: readonly string[] | undefined;
  /** Whether it takes only tokens that are bound to a key (DPoP). */
  readonly bindsTokens: boolean;
}

/** What a search for resource metadata ended with. */
export interface ResourceSearch {
  readonly metadata: ResourceMetadata | undefined;
  /** Whether every place was there to say no; else a passing failure may have hidden the metadata. */
  readonly isCertain: boolean;
}

const wellKnown = "/.well-known/oauth-protected-resource";

/** How many places that a challenge names are tried, so that the well-known ones stay within the budget of a discovery. */
const maxChallenged = 4;

/** Where the metadata of a tool server may be: what its challenge names, then well-known with its path, then at the root. */
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

/** Reads resource metadata, or tells why it is not that of this server. */
export function parseResourceMetadata(json: JsonObject, server: URL): ResourceMetadata | string {
  const { resource } = json;
  const url = typeof resource === "string" ? parseUrl(resource) : undefined;
  if (typeof resource !== "string" || url === undefined) return "it names no resource";
  if (!coversResource(url, server)) return `it is of another resource, ${JSON.stringify(resource)}`;
  return {
    resource,
    authorizationServers: stringList(json.authorization_servers) ?? [],
    scopes: stringList(json.scopes_supported),
    bindsTokens: json.dpop_bound_access_tokens_required === true,
  };
}

/** Whether a resource is the server, or a path above it on the same origin. */
export function coversResource(resource: URL, server: URL): boolean {
  if (resource.origin !== server.origin || resource.hash !== "") return false;
  if (resource.search !== "" && resource.search !== server.search) return false;
  const above = resource.pathname.replace(/\/$/, "");
  const path = server.pathname.replace(/\/$/, "");
  return path === above || path.startsWith(`${above}/`);
}

/** Looks for the metadata of the tool server. Rejects with AUTHORIZATION_SERVER_INVALID where there is only that of another. */
export async function searchResourceMetadata(
  context: OAuthContext,
  budget: DiscoveryBudget,
  challenged?: readonly string[],
): Promise<ResourceSearch> {
  let foreign: string | undefined;
  let isCertain = true;
  for (const url of resourceMetadataUrls(context.url, challenged)) {
    const look = await budget.look(url);
    if (look.kind === "found") {
      const metadata = parseResourceMetadata(look.json, context.url);
      if (typeof metadata !== "string") return { metadata, isCertain: true };
      if (typeof look.json.resource === "string")
        foreign ??= `${urlText(context, url)}: ${peerText(context, metadata)}`;
    }
    if (look.kind === "failed") isCertain = false;
    const reason =
      look.kind === "found" ? "it is of another resource" : look.kind === "failed" ? look.error.message : look.reason;
    tellEvent(context, "discovery-skipped", `No resource metadata at ${urlText(context, url)}: ${reason}.`);
  }
  if (foreign !== undefined) {
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem: `its resource metadata is not its own (${foreign}). A token for it could be used elsewhere, so none is requested.`,
      advice: "Check the url of the entry, or report this to the operator of the server.",
    });
  }
  return { metadata: undefined, isCertain };
}
