import { type QuirkResponse, somePage } from "../quirk-response.js";
import type { Quirk } from "../quirk-table.js";

/** What the metadata of an authorization server is made of. */
export interface MetadataFacts {
  readonly quirks: ReadonlySet<Quirk>;
  readonly origin: string;
  readonly issuer: string;
  readonly scopes: readonly string[];
  /** Where redirects lead that lead away. */
  readonly elsewhere: string;
}

/** The response at a well-known URL of the authorization server. */
export function metadataResponse(facts: MetadataFacts, path: string): QuirkResponse {
  const has = (quirk: Quirk): boolean => facts.quirks.has(quirk);
  if (has("metadata-silent")) return "silence";
  if (has("metadata-huge")) return "flood";
  if (has("metadata-failing")) return [503, "down"];
  if (has("metadata-absent")) return [404, "no"];
  if (has("metadata-redirects-away")) return [302, "", { location: facts.elsewhere }];
  if (has("metadata-redirects-within")) return [302, "", { location: "/moved" }];
  const isOpenId = path.includes("openid-configuration");
  if (has("metadata-html") && !isOpenId) return somePage;
  if (has("metadata-openid-only") && !isOpenId) return [404, "no"];
  return [200, serverMetadata(facts)];
}

/** The metadata itself (RFC 8414). */
export function serverMetadata({ quirks, origin, issuer, scopes }: MetadataFacts): Record<string, unknown> {
  const has = (quirk: Quirk): boolean => quirks.has(quirk);
  return {
    issuer: has("metadata-of-another")
      ? "https://honest.example"
      : has("metadata-issuer-slash")
        ? `${issuer}/`
        : issuer,
    authorization_endpoint: has("endpoint-file")
      ? "file:///bin/sh"
      : has("endpoint-shell")
        ? `${origin}/authorize/$(touch%20pwned)`
        : has("endpoint-other-origin")
          ? `${origin.replace("127.0.0.1", "localhost")}/authorize`
          : has("endpoint-with-parameters")
            ? `${origin}/authorize?tenant=acme&scope=admin&Scope=admin&scope%5B%5D=admin&prompt=none&request_uri=urn%3Ax`
            : `${origin}/authorize`,
    token_endpoint: has("endpoint-http")
      ? "http://as.example/token"
      : has("endpoint-metadata-service")
        ? "https://169.254.169.254/token"
        : `${origin}/token`,
    device_authorization_endpoint: has("device-http") ? "http://as.example/device" : undefined,
    registration_endpoint: has("registration-absent") ? undefined : `${origin}/register`,
    revocation_endpoint: has("revocation-absent") ? undefined : `${origin}/revoke`,
    scopes_supported: scopes,
    response_types_supported: ["code"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic"],
    code_challenge_methods_supported: has("pkce-absent") ? undefined : has("pkce-plain") ? ["plain"] : ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: has("takes-metadata-documents"),
  };
}
