import { ToolServerError } from "../../../errors.js";
import { type JsonObject, stringList } from "../../../json-object.js";
import { parseUrl } from "../../../url.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText, urlText } from "../oauth-errors.js";
import { endpointDefect, parseEndpoint, withoutOAuthParameters } from "../requests/endpoint-rules.js";
import { isTransientStatus, type OAuthResponse, sendOAuthRequest } from "../requests/oauth-request.js";
import { knownIssuer } from "./known-issuers.js";
import { parseScopes } from "./scopes.js";

/** The metadata of a tool server as a protected resource (RFC 9728). */
export interface ResourceMetadata {
  /** Its identifier, exactly as published, including a trailing slash. */
  readonly resource: string;
  /** The issuers of the authorization servers, as published. */
  readonly authorizationServers: readonly string[];
  /** The scopes for basic use; undefined if not published. */
  readonly scopes: readonly string[] | undefined;
  /** Whether it accepts only tokens that are bound to a key (DPoP). */
  readonly bindsTokens: boolean;
}

/** The metadata of an authorization server (RFC 8414, OpenID Connect Discovery), as far as it is used. All endpoints are checked. */
export interface AuthorizationServer {
  /** As the tool server names it; never normalized. */
  readonly issuer: string;
  /** As its metadata names it: identical, except for a trailing slash, or at a known issuer whose metadata names another. */
  readonly publishedIssuer: string;
  readonly tokenEndpoint: URL;
  readonly authorizationEndpoint?: URL | undefined;
  readonly registrationEndpoint?: URL | undefined;
  readonly revocationEndpoint?: URL | undefined;
  readonly deviceEndpoint?: URL | undefined;
  /** Whether PKCE with S256 is supported. */
  readonly offersPkce: boolean;
  /** Whether its authorization responses contain `iss` (RFC 9207). */
  readonly sendsIssuer: boolean;
  readonly takesMetadataDocuments: boolean;
  readonly scopes?: readonly string[] | undefined;
  readonly grants?: readonly string[] | undefined;
  /** How clients may authenticate at the token endpoint. */
  readonly authenticationMethods?: readonly string[] | undefined;
  /** The algorithms of DPoP proofs; undefined if it does not bind tokens to keys. */
  readonly proofAlgorithms?: readonly string[] | undefined;
  /** Nothing is published: its endpoints are the defaults of protocol revision 2025-03-26, and it may not exist. */
  readonly isAssumed?: true;
}

/** What the metadata of an authorization server says, whether or not it can be used. Safe to show. */
export interface PublishedServer {
  readonly publishedIssuer: string | undefined;
  /** The PKCE methods; undefined if the metadata lists none. */
  readonly pkce: readonly string[] | undefined;
  readonly endpoints: readonly PublishedEndpoint[];
  readonly scopes: readonly string[] | undefined;
  readonly takesMetadataDocuments: boolean;
  readonly sendsIssuer: boolean;
}

export interface PublishedEndpoint {
  /** The metadata field, such as `token_endpoint`. */
  readonly name: string;
  readonly url: string;
  /** Why it must not be used. */
  readonly defect: string | undefined;
}

const wellKnown = "/.well-known/oauth-protected-resource";

/** How many urls of a challenge are tried, so that the well-known ones stay within the limits of a discovery. */
const maxChallenged = 4;

/** The urls of the metadata of a tool server: those of its challenge, then well-known with its path, then at the root. */
export function resourceMetadataUrls(server: URL, challenged: readonly string[] = []): URL[] {
  const path = server.pathname === "/" ? "" : server.pathname;
  const places = [
    ...[...new Set(challenged.filter((place) => parseUrl(place) !== undefined))].slice(0, maxChallenged),
    `${server.origin}${wellKnown}${path}${server.search}`,
    `${server.origin}${wellKnown}${path.replace(/\/$/, "")}`,
    `${server.origin}${wellKnown}`,
  ];
  return [...new Set(places.map((place) => new URL(place).href))].map((place) => new URL(place));
}

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

/** Parses resource metadata, or says why it does not describe this server. */
export function parseResourceMetadata(json: JsonObject, server: URL): ResourceMetadata | string {
  const { resource } = json;
  const url = typeof resource === "string" ? parseUrl(resource) : undefined;
  if (typeof resource !== "string" || url === undefined) return "it has no resource";
  if (!isPlain(resource, url) || !coversResource(url, server))
    return `it describes another resource, ${JSON.stringify(resource)}`;
  const scopes = stringList(json.scopes_supported);
  return {
    resource,
    authorizationServers: stringList(json.authorization_servers) ?? [],
    scopes: scopes === undefined ? undefined : parseScopes(scopes.join(" ")),
    bindsTokens: json.dpop_bound_access_tokens_required === true,
  };
}

/** Whether every parser reads a resource alike. It is sent as published, so another one could read another host in it. */
function isPlain(resource: string, { username, password }: URL): boolean {
  return !/[\s\\\p{Cc}]/u.test(resource) && username === "" && password === "";
}

/** Whether a resource is the server, or a parent path on the same origin. */
export function coversResource(resource: URL, server: URL): boolean {
  if (resource.origin !== server.origin || resource.hash !== "") return false;
  if (resource.search !== "" && resource.search !== server.search) return false;
  const above = resource.pathname.replace(/\/$/, "");
  const path = server.pathname.replace(/\/$/, "");
  return path === above || path.startsWith(`${above}/`);
}

const endpoints = {
  tokenEndpoint: "token_endpoint",
  authorizationEndpoint: "authorization_endpoint",
  registrationEndpoint: "registration_endpoint",
  revocationEndpoint: "revocation_endpoint",
  deviceEndpoint: "device_authorization_endpoint",
} as const;

/** Parses the metadata of an issuer, or says why it must not be used. See `parseEndpoint`. */
export function parseAuthorizationServer(
  json: JsonObject,
  issuer: string,
  rules: Pick<OAuthContext, "addresses" | "allowInsecureLoopback">,
): AuthorizationServer | string {
  const { issuer: published } = json;
  const known = knownIssuer(issuer);
  const isAccepted = (text: string): boolean =>
    text === issuer || isSameButSlash(text, issuer) || known?.publishes?.test(text) === true;
  if (typeof published !== "string" || !isAccepted(published)) {
    return `its issuer is ${JSON.stringify(published ?? null)} instead of ${JSON.stringify(issuer)}`;
  }
  const found: Partial<Record<keyof typeof endpoints, URL>> = {};
  for (const [name, field] of Object.entries(endpoints) as [keyof typeof endpoints, string][]) {
    const isMissing = json[field] === undefined || json[field] === null;
    if (isMissing && name !== "tokenEndpoint") continue;
    const endpoint = parseEndpoint(json[field], rules);
    if (typeof endpoint === "string") return `its ${field} is invalid: ${endpoint}`;
    found[name] = withoutOAuthParameters(endpoint);
  }
  return {
    issuer,
    publishedIssuer: published,
    ...(found as Pick<AuthorizationServer, keyof typeof endpoints>),
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

export function describeServer(context: OAuthContext, json: JsonObject): PublishedServer {
  const { issuer } = json;
  return {
    publishedIssuer: typeof issuer === "string" ? peerText(context, issuer) : undefined,
    pkce: stringList(json.code_challenge_methods_supported)?.map((method) => peerText(context, method, 40)),
    endpoints: Object.values(endpoints).flatMap((name): PublishedEndpoint[] => {
      const value = json[name];
      if (typeof value !== "string") return [];
      const parsed = parseEndpoint(value, context);
      return [{ name, url: peerText(context, value, 300), defect: typeof parsed === "string" ? parsed : undefined }];
    }),
    scopes: stringList(json.scopes_supported)?.map((scope) => peerText(context, scope, 100)),
    takesMetadataDocuments: json.client_id_metadata_document_supported === true,
    sendsIssuer: json.authorization_response_iss_parameter_supported === true,
  };
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
    offersPkce: true,
    sendsIssuer: false,
    takesMetadataDocuments: false,
    isAssumed: true,
  };
}

/**
 * Requests a JSON object; resolves with the reason if it does not exist. Rejects with a transient failure, with
 * AUTHORIZATION_SERVER_INVALID at a limit of the discovery, or with the signal's reason.
 */
export type ReadMetadata = (url: URL, requested: string) => Promise<JsonObject | string>;

const maxRedirects = 2;

/** Runs a search for metadata within the limits of time and number of a discovery. */
export async function withinDiscoveryLimits<T>(
  context: OAuthContext,
  signal: AbortSignal | undefined,
  search: (read: ReadMetadata) => Promise<T>,
): Promise<T> {
  const { clock, limits } = context;
  const limit = new AbortController();
  const spent = (what: string): ToolServerError =>
    oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem: `its authorization server was not found within ${what}.`,
      advice: "Set the issuer in the configuration, or ask the operator of the server.",
    });
  const cancelTimer = clock.after(limits.discoveryMs, () => limit.abort(spent(`${limits.discoveryMs / 1000} s`)));
  const both = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
  let requests = 0;

  const read = async (url: URL, requested: string, redirects = 0): Promise<JsonObject | string> => {
    const defect = endpointDefect(url, context);
    if (defect !== undefined) return defect;
    requests += 1;
    if (requests > limits.discoveryRequests) throw spent(`${limits.discoveryRequests} requests`);
    const accept = { accept: "application/json" };
    const request = { method: "GET", url, headers: accept, requested, isSearch: true } as const;
    let response: OAuthResponse;
    try {
      response = await sendOAuthRequest(context, request, both);
    } catch (error) {
      both.throwIfAborted();
      // The response was too large, or the host has a forbidden address.
      if (ToolServerError.is(error, "AUTHORIZATION_SERVER_INVALID")) return error.message;
      throw error;
    }
    const { status, headers, json } = response;
    if (status >= 300 && status < 400) {
      const target = parseUrl(headers.location ?? "", url);
      if (target?.origin !== url.origin) return `status ${status}, a redirect to another origin`;
      if (redirects === maxRedirects) return `more than ${maxRedirects} redirects`;
      return read(target, requested, redirects + 1);
    }
    if (isTransientStatus(status)) {
      const problem = `the metadata request to ${urlText(context, url)} failed with status ${status}.`;
      const parts = { problem, advice: "Try again later." };
      throw oauthFailure(context, "SERVER_FAILED", parts, { details: { status } });
    }
    if (status !== 200) return `status ${status}`;
    // Some servers respond with status 200 and a page at every path.
    return json ?? "status 200, but not a JSON object";
  };

  try {
    return await search(read);
  } finally {
    cancelTimer();
  }
}
