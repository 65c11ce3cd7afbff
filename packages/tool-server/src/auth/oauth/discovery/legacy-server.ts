import type { AuthorizationServer } from "./authorization-server.js";

/** The two ways to write an origin as an issuer; nobody published it, so neither is the wrong one. */
export function originIssuers(server: URL): [string, string] {
  return [server.origin, `${server.origin}/`];
}

/**
 * The authorization server that a tool server is itself where it publishes nothing, by the protocol's revision 2025-03-26:
 * default endpoints at its origin. That revision demands PKCE of all, so S256 is taken to be there.
 */
export function legacyAuthorizationServer(server: URL): AuthorizationServer {
  return {
    issuer: server.origin,
    tokenEndpoint: new URL("/token", server),
    authorizationEndpoint: new URL("/authorize", server),
    registrationEndpoint: new URL("/register", server),
    revocationEndpoint: undefined,
    deviceEndpoint: undefined,
    offersPkce: true,
    sendsIssuer: false,
    takesMetadataDocuments: false,
    scopes: undefined,
    grants: undefined,
    authenticationMethods: undefined,
    proofAlgorithms: undefined,
  };
}
