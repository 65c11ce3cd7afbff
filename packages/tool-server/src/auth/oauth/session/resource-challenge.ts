import { parseChallenges } from "../../credentials/challenge.js";
import { parseScopes } from "../authorization/scopes.js";

/** What a tool server asks for when it refuses a request. */
export interface ResourceChallenge {
  /** Whether it asks for a token at all, by a challenge of Bearer or DPoP. */
  readonly isOAuth: boolean;
  /** The urls of its metadata, as they are written, in order and over all challenges. */
  readonly resourceMetadata: readonly string[];
  /** The permissions that the request needs. */
  readonly scopes: readonly string[];
  /** The error code of RFC 6750. */
  readonly error: string | undefined;
  /** Whether it asks for tokens that are bound to a key. */
  readonly wantsProof: boolean;
}

/** Reads the challenge of a WWW-Authenticate header, where there is one of Bearer or DPoP. */
export function parseResourceChallenge(header: string | undefined): ResourceChallenge {
  const found = parseChallenges(header ?? "").filter(({ scheme }) => scheme === "bearer" || scheme === "dpop");
  const parameterOf = (name: string): string | undefined =>
    found.map(({ parameters }) => parameters.get(name)).find((value) => value !== undefined && value !== "");
  return {
    isOAuth: found.length > 0,
    resourceMetadata: found.flatMap(({ resourceMetadata }) => resourceMetadata),
    scopes: parseScopes(parameterOf("scope")),
    error: parameterOf("error"),
    wantsProof: found.length > 0 && found.every(({ scheme }) => scheme === "dpop"),
  };
}
