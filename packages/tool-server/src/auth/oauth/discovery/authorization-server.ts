import { type JsonObject, stringList } from "../../../json-object.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText, urlText } from "../oauth-errors.js";
import { parseEndpoint, withoutOAuthParameters } from "../requests/endpoint-rules.js";
import type { DiscoveryBudget } from "./discovery-budget.js";
import { knownIssuer } from "./known-issuers.js";

/** The metadata of an authorization server (RFC 8414, OpenID Connect Discovery), as far as it is used. All endpoints are checked. */
export interface AuthorizationServer {
  /** As the tool server names it; never normalized. */
  readonly issuer: string;
  /** As its metadata names it: identical, except for a trailing slash, or at a known issuer whose metadata names another. */
  readonly publishedIssuer: string;
  readonly tokenEndpoint: URL;
  readonly authorizationEndpoint: URL | undefined;
  readonly registrationEndpoint: URL | undefined;
  readonly revocationEndpoint: URL | undefined;
  readonly deviceEndpoint: URL | undefined;
  /** Whether PKCE with S256 is supported. */
  readonly offersPkce: boolean;
  /** Whether its authorization responses contain `iss` (RFC 9207). */
  readonly sendsIssuer: boolean;
  readonly takesMetadataDocuments: boolean;
  readonly scopes: readonly string[] | undefined;
  readonly grants: readonly string[] | undefined;
  /** How clients may authenticate at the token endpoint. */
  readonly authenticationMethods: readonly string[] | undefined;
  /** The algorithms of DPoP proofs; undefined if it does not bind tokens to keys. */
  readonly proofAlgorithms: readonly string[] | undefined;
  /** Nothing is published: its endpoints are the defaults of protocol revision 2025-03-26, and it may not exist. */
  readonly isAssumed?: true;
}

const endpoints = {
  authorizationEndpoint: "authorization_endpoint",
  registrationEndpoint: "registration_endpoint",
  revocationEndpoint: "revocation_endpoint",
  deviceEndpoint: "device_authorization_endpoint",
} as const;

/** The well-known urls of an issuer: RFC 8414 with its path inserted, then OpenID Connect with its path inserted and appended. */
export function serverMetadataUrls(issuer: URL): URL[] {
  const path = issuer.pathname.replace(/\/$/, "");
  const places = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    `${path}/.well-known/openid-configuration`,
  ];
  return [...new Set(places)].map((place) => new URL(place, issuer.origin));
}

/** Parses the metadata of one of these issuers, or says why it must not be used. See `parseEndpoint`. */
export function parseAuthorizationServer(
  json: JsonObject,
  issuers: readonly string[],
  rules: Pick<OAuthContext, "addresses" | "allowInsecureLoopback">,
): AuthorizationServer | string {
  const { issuer: published } = json;
  const [named = ""] = issuers;
  const known = knownIssuer(named);
  const isExact = typeof published === "string" && issuers.includes(published);
  const isAccepted = (text: string): boolean =>
    isExact || isSameButSlash(text, named) || known?.publishes?.test(text) === true;
  if (typeof published !== "string" || !isAccepted(published)) {
    return `its issuer is ${JSON.stringify(published ?? null)} instead of ${JSON.stringify(named)}`;
  }
  const tokenEndpoint = parseEndpoint(json.token_endpoint, rules);
  if (typeof tokenEndpoint === "string") return `its token_endpoint is invalid: ${tokenEndpoint}`;
  const found: Partial<Record<keyof typeof endpoints, URL>> = {};
  for (const [name, field] of Object.entries(endpoints) as [keyof typeof endpoints, string][]) {
    if (json[field] === undefined || json[field] === null) continue;
    const endpoint = parseEndpoint(json[field], rules);
    if (typeof endpoint === "string") return `its ${field} is invalid: ${endpoint}`;
    found[name] = withoutOAuthParameters(endpoint);
  }
  return {
    issuer: isExact ? published : named,
    publishedIssuer: published,
    tokenEndpoint: withoutOAuthParameters(tokenEndpoint),
    authorizationEndpoint: found.authorizationEndpoint,
    registrationEndpoint: found.registrationEndpoint,
    revocationEndpoint: found.revocationEndpoint,
    deviceEndpoint: found.deviceEndpoint,
    offersPkce: stringList(json.code_challenge_methods_supported)?.includes("S256") ?? false,
    sendsIssuer: json.authorization_response_iss_parameter_supported === true,
    takesMetadataDocuments: json.client_id_metadata_document_supported === true,
    scopes: stringList(json.scopes_supported),
    grants: stringList(json.grant_types_supported),
    authenticationMethods:
      stringList(json.token_endpoint_auth_methods_supported) ??
      (known?.authentication === undefined ? undefined : [known.authentication]),
    proofAlgorithms: stringList(json.dpop_signing_alg_values_supported),
  };
}

/**
 * Whether two issuers differ only by the slash at the end of their path. Both have the same metadata urls, so that metadata is from the
 * issuer that was named, whichever of the two it names.
 */
function isSameButSlash(one: string, other: string): boolean {
  const shorter = one.length < other.length ? one : other;
  return !/[?#]|\/$/.test(shorter) && (one === `${other}/` || other === `${one}/`);
}

/** The result of a search for the metadata of an issuer. */
export interface ServerSearch {
  readonly server: AuthorizationServer | undefined;
  /** Whether there certainly is no document. */
  readonly isAbsent: boolean;
}

/**
 * Searches for the metadata of an issuer, which may be spelled in any of these ways. Rejects with AUTHORIZATION_SERVER_INVALID
 * if all metadata is invalid, or with a transient failure.
 */
export async function searchAuthorizationServer(
  context: OAuthContext,
  budget: DiscoveryBudget,
  issuers: readonly [string, ...string[]],
): Promise<ServerSearch> {
  const issuer = parseEndpoint(issuers[0], context);
  if (typeof issuer === "string") {
    throw invalid(context, `the issuer ${JSON.stringify(peerText(context, issuers[0]))} is invalid: ${issuer}`);
  }
  let refused: string | undefined;
  let failure: Error | undefined;
  for (const url of serverMetadataUrls(issuer)) {
    const fetched = await budget.fetchJson(url, "authorization server metadata");
    const parsed = fetched.kind === "found" ? parseAuthorizationServer(fetched.json, issuers, context) : undefined;
    if (parsed !== undefined && typeof parsed !== "string") return { server: parsed, isAbsent: false };
    if (parsed !== undefined)
      refused ??= `the metadata at ${urlText(context, url)} is invalid: ${peerText(context, parsed, 400)}`;
    if (fetched.kind === "failed") failure ??= fetched.error;
  }
  if (refused !== undefined) throw invalid(context, refused);
  if (failure !== undefined) throw failure;
  return { server: undefined, isAbsent: true };
}

function invalid(context: OAuthContext, reason: string): Error {
  return oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
    problem: `${reason}.`,
    advice:
      "Report this to the operator of the server; if you know its issuer, set it in the settings of this server in oauth.json.",
  });
}

/** The two spellings of an origin as an issuer; it was not published, so both are right. */
export function originIssuers(server: URL): [string, string] {
  return [server.origin, `${server.origin}/`];
}

/**
 * A tool server that publishes nothing is its own authorization server, according to protocol revision 2025-03-26: default
 * endpoints at its origin. That revision requires PKCE, so S256 is assumed.
 */
export function legacyAuthorizationServer(server: URL): AuthorizationServer {
  return {
    issuer: server.origin,
    publishedIssuer: server.origin,
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
    isAssumed: true,
  };
}
