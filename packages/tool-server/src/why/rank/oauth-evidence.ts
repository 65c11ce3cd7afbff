import type { WalkFacts } from "../facts.js";

/**
 * Whether anything shows that a server is signed in to by OAuth: metadata, a challenge that names some, or an earlier sign-in. A 401
 * alone does not, and neither does a challenge of Bearer if there is no metadata: a server that wants a token in a header responds
 * in the same way.
 */
export function hasOAuthEvidence({ attempt, oauth }: WalkFacts): boolean {
  const { resource, authorization, before } = oauth ?? {};
  if (before?.issuer !== undefined || attempt?.refusal?.challenge?.resourceMetadata.length) return true;
  if (resource?.outcome === "found" || resource?.outcome === "foreign") return true;
  switch (authorization?.outcome) {
    case "found":
      return true;
    case "invalid":
      // A server that responds to every path with an object of JSON does so here too.
      return authorization.publishedIssuer !== undefined || authorization.endpoints.length > 0;
    case "default":
      return false;
    default:
      // The metadata could not be read.
      return asksForToken({ attempt });
  }
}

/** Whether the challenge asks for a token such as OAuth gives. */
export function asksForToken({ attempt }: Pick<WalkFacts, "attempt">): boolean {
  return attempt?.refusal?.challenge?.schemes.some((scheme) => /^(?:bearer|dpop)$/i.test(scheme)) ?? false;
}
