import { parseChallenges } from "../../credentials/challenge.js";
import { parseScopes } from "./scopes.js";

/** What a tool server requires, according to its challenge. */
export interface ResourceChallenge {
  /** Whether it asks for a token, with a Bearer or DPoP challenge. */
  readonly isOAuth: boolean;
  /** The urls of its metadata, as written, in order, from all challenges. */
  readonly resourceMetadata: readonly string[];
  /** The scopes that the request needs. */
  readonly scopes: readonly string[];
  /** The error code of RFC 6750. */
  readonly error: string | undefined;
  /** Whether it asks for tokens that are bound to a key (DPoP). */
  readonly requiresProof: boolean;
}

/** Parses the Bearer and DPoP challenges of a WWW-Authenticate header. */
export function parseResourceChallenge(header: string | undefined): ResourceChallenge {
  const found = parseChallenges(header ?? "").filter(({ scheme }) => scheme === "bearer" || scheme === "dpop");
  const parameterOf = (name: string): string | undefined =>
    found.map(({ parameters }) => parameters.get(name)).find((value) => value !== undefined && value !== "");
  return {
    isOAuth: found.length > 0,
    resourceMetadata: found.flatMap(({ resourceMetadata }) => resourceMetadata),
    scopes: parseScopes(parameterOf("scope")),
    error: parameterOf("error"),
    requiresProof: found.length > 0 && found.every(({ scheme }) => scheme === "dpop"),
  };
}
