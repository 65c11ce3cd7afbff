import type { DiscoveryBudget } from "../../auth/oauth/discovery/discovery-budget.js";
import { parseResourceMetadata, resourceMetadataUrls } from "../../auth/oauth/discovery/resource-metadata.js";
import type { OAuthContext } from "../../auth/oauth/oauth-context.js";
import { peerText, urlText } from "../../auth/oauth/oauth-errors.js";
import type { ResourceLook } from "../oauth-facts.js";
import { lookWithin } from "./look-within-budget.js";

/** Looks for what a tool server says of itself as a protected resource (RFC 9728). */
export async function lookAtResource(
  context: OAuthContext,
  budget: DiscoveryBudget,
  challenged: readonly string[],
): Promise<ResourceLook> {
  const evidence: string[] = [];
  const nothing = { resource: undefined, issuers: [], scopes: undefined, isNamed: challenged.length > 0, evidence };
  let outcome: ResourceLook["outcome"] = "absent";
  for (const url of resourceMetadataUrls(context.url, challenged)) {
    const place = urlText(context, url);
    const look = await lookWithin(budget, url);
    if (look.kind === "found") {
      const metadata = parseResourceMetadata(look.json, context.url);
      if (typeof metadata !== "string") {
        const { resource, authorizationServers, scopes } = metadata;
        evidence.push(`${place}: it is there`);
        return {
          ...nothing,
          outcome: "found",
          resource: peerText(context, resource),
          issuers: authorizationServers,
          scopes: scopes?.map((scope) => peerText(context, scope)),
        };
      }
      evidence.push(`${place}: ${peerText(context, metadata)}`);
      if (typeof look.json.resource === "string") outcome = "foreign";
    } else {
      evidence.push(`${place}: ${look.kind === "failed" ? look.error.message : look.reason}`);
      if (look.kind === "failed" && outcome === "absent") outcome = "failed";
    }
  }
  return { ...nothing, outcome };
}
