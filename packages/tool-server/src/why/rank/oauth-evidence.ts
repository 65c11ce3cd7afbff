import type { WalkFacts } from "../facts.js";

/**
 * Whether anything shows that a server is signed in to by OAuth: its challenge, published metadata, or an earlier sign-in. A bare 401
 * does not: a server that wants an API key answers the same.
 */
export function hasOAuthEvidence({ attempt, oauth }: WalkFacts): boolean {
  const schemes = attempt?.refusal?.challenge?.schemes ?? [];
  if (schemes.some((scheme) => /^(?:bearer|dpop)$/i.test(scheme))) return true;
  if (oauth?.before?.issuer !== undefined) return true;
  // Without any metadata, the endpoints that a sign-in would use are only the ones of an old revision.
  return oauth?.authorization?.outcome !== "default";
}
