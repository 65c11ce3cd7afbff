import type { Discovery, DiscoveryAttempt, FailedDiscovery } from "../../auth/oauth/discovery/discover.js";
import type { OAuthContext } from "../../auth/oauth/oauth-context.js";
import { peerText } from "../../auth/oauth/oauth-errors.js";
import type { AuthorizationServerEvidence, ResourceEvidence } from "../evidence.js";

const nothingPublished = {
  publishedIssuer: undefined,
  pkce: undefined,
  endpoints: [],
  scopes: undefined,
  takesMetadataDocuments: false,
  sendsIssuer: false,
};

/** What a discovery found out about the metadata of a tool server. */
export function resourceEvidence(
  context: Pick<OAuthContext, "secrets">,
  { attempts, resource, resourceScopes }: Discovery | FailedDiscovery,
): ResourceEvidence {
  const tried = attempts.filter(({ issuer }) => issuer === undefined);
  const outcome = outcomeOf(tried);
  const isFound = outcome === "found";
  return {
    outcome: outcome === "refused" ? "foreign" : outcome,
    evidence: tried.map(describeAttempt),
    resource: isFound ? peerText(context, resource) : undefined,
    scopes: isFound ? resourceScopes?.map((scope) => peerText(context, scope)) : undefined,
  };
}

/** The same about the authorization server that it found or tried first; undefined if it looked for none. */
export function authorizationEvidence(
  context: Pick<OAuthContext, "secrets">,
  { attempts, server, changedFrom }: Discovery | FailedDiscovery,
): AuthorizationServerEvidence | undefined {
  const servers = attempts.filter(({ issuer }) => issuer !== undefined);
  const expectedIssuer = (servers.find(({ outcome }) => outcome === "found") ?? servers[0])?.issuer;
  if (expectedIssuer === undefined) return undefined;
  const tried = servers.filter(({ issuer }) => issuer === expectedIssuer);
  const outcome = outcomeOf(tried);
  return {
    ...(tried.find((attempt) => attempt.outcome === outcome)?.published ?? nothingPublished),
    outcome: server?.isAssumed ? "default" : outcome === "refused" ? "invalid" : outcome,
    evidence: tried.map(describeAttempt),
    expectedIssuer,
    changedFrom: changedFrom === undefined ? undefined : peerText(context, changedFrom),
  };
}

function outcomeOf(tried: readonly DiscoveryAttempt[]): DiscoveryAttempt["outcome"] {
  const outcomes = ["found", "refused", "failed"] as const;
  return outcomes.find((outcome) => tried.some((attempt) => attempt.outcome === outcome)) ?? "absent";
}

export function describeAttempt({ url, reason = "found" }: DiscoveryAttempt): string {
  return `${url}: ${reason}`;
}
