import type { Cause } from "../../causes/cause-table.js";
import { fixByCommand, fixBySignIn } from "../../causes/fixes.js";
import { refusalCauses } from "../../causes/refusal-causes.js";
import { asksForToken, describeRefusal, type RefusalEvidence } from "../../causes/refusal-evidence.js";
import type { WalkEvidence } from "../evidence.js";

/** The possible causes of a 401 or 403: those of the shared table, with everything that the walk observed in addition. */
export function refusalCausesOfWalk(seen: WalkEvidence): Cause[] {
  const refusal = refusalOf(seen);
  return refusal === undefined ? [] : [...refusalCauses(refusal, seen), ...oauthOffered(seen, refusal)];
}

/** The refusal, completed with what only a walk knows: the response body, the metadata, the stored sign-in. */
export function refusalOf(seen: WalkEvidence): RefusalEvidence | undefined {
  const { attempt, network, oauth, tenants } = seen;
  if (attempt?.refusal === undefined) return undefined;
  const isOAuth = attempt.credential === "oauth";
  return {
    ...attempt.refusal,
    response: attempt.response,
    oauth: isOAuth ? (supportsOAuth(seen) ? "supported" : "unsupported") : undefined,
    signIn: oauth?.before,
    resource: oauth?.resource?.resource,
    host: network === undefined ? attempt.refusal.host : `${network.host}, port ${network.port}`,
    tenantVariables: tenants.length === 0 ? attempt.refusal.tenantVariables : tenants.map(({ variable }) => variable),
  };
}

/** The server offers OAuth, but the entry has its own credential. */
function oauthOffered(seen: WalkEvidence, refusal: RefusalEvidence): Cause[] {
  const { attempt, offer, type } = seen;
  const urls = refusal.challenge?.resourceMetadata ?? [];
  const isStatic = attempt?.credential === "headers" || attempt?.credential === "helper";
  if ((urls.length === 0 && offer === undefined) || !isStatic || type === "ws") return [];
  const more = urls.length === 0 ? (offer?.evidence ?? []) : [`The challenge names ${urls.join(", ")}.`];
  const problem = "The server supports OAuth, but the entry has its own credential, which takes precedence.";
  const evidence = [...describeRefusal(refusal), ...more];
  const remove = "Remove headers and headersHelper from the entry, then sign in.";
  const fix = offer ? fixBySignIn(seen, offer) : fixByCommand(seen, ["login"], remove);
  return [{ code: "oauth-offered", weight: 0.35, problem, evidence, fix }];
}

/**
 * Whether anything shows that a server supports OAuth: metadata, a challenge that names it, or an earlier sign-in. A 401 alone
 * does not, and neither does a Bearer challenge without metadata: servers that expect a token in a header respond the same way.
 */
export function supportsOAuth({ attempt, oauth }: WalkEvidence): boolean {
  const { resource, authorization, before } = oauth ?? {};
  const challenge = attempt?.refusal?.challenge;
  if (before?.issuer !== undefined || challenge?.resourceMetadata.length) return true;
  if (resource?.outcome === "found" || resource?.outcome === "foreign") return true;
  switch (authorization?.outcome) {
    case "found":
      return true;
    case "invalid":
      // A server that returns a JSON object for every path does so here too.
      return authorization.publishedIssuer !== undefined || authorization.endpoints.length > 0;
    case "default":
      return false;
    default:
      // The metadata could not be read.
      return asksForToken(challenge);
  }
}
