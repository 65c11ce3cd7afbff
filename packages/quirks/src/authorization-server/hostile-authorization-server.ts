import {
  type LocalServer,
  type LocalServerOptions,
  type LoggedRequest,
  type QuirkResponse,
  somePage,
  startLocalServer,
} from "../local-server.js";
import type { Quirk } from "../quirk-table.js";
import { authorize, type ConsentPage } from "./authorize.js";
import { clientIdOf, createClientRegistry, type FetchDocument } from "./client-registry.js";
import { createTokenStore } from "./token-store.js";

/** An authorization server with a switch per deviation. It rotates refresh tokens and detects their reuse. */
export interface HostileAuthorizationServer extends LocalServer {
  readonly issuer: string;
  /** Its deviations; may change at any time. */
  readonly quirks: Set<Quirk>;
  /** The lifetime of access tokens in seconds. Default 3600. */
  lifetimeS: number;
  /** Awaited before each token response, to test what happens meanwhile. */
  beforeToken: (() => Promise<void>) | undefined;
  /** The scopes of a token; undefined if the token is not valid. */
  scopesOf(accessToken: string): readonly string[] | undefined;
  /** Invalidates an access token, as if it had expired. */
  endAccess(accessToken: string): void;
  endAllAccess(): void;
  /** Invalidates all refresh tokens. */
  endRefreshTokens(): void;
  /** Forgets all clients. */
  forgetClients(): void;
  /** Every token that was ever issued. */
  issued(): readonly string[];
  /** The number of requests to a path, with this grant type if one is given. */
  count(path: string, grant?: string): number;
}

/** Options of an authorization server. */
export interface HostileAuthorizationServerOptions extends LocalServerOptions {
  readonly quirks?: readonly Quirk[] | undefined;
  /** The path of its issuer. Default: none. */
  readonly path?: string | undefined;
  /** The scopes in its metadata. */
  readonly scopes?: readonly string[] | undefined;
  /** Asks the user to allow or deny each sign-in. Default: all are allowed without asking. */
  readonly consentPage?: ConsentPage | undefined;
  /** The target of redirects to another origin. Default: an address where nothing listens. */
  readonly elsewhere?: string | undefined;
  /** Fetches the client-id metadata documents that it accepts. Default: they are accepted without reading them. */
  readonly fetchDocument?: FetchDocument | undefined;
}

/** Starts an authorization server on 127.0.0.1. Rejects if the port is in use. */
export async function startHostileAuthorizationServer(
  options: HostileAuthorizationServerOptions = {},
): Promise<HostileAuthorizationServer> {
  const { path: base = "", elsewhere = nowhere, consentPage } = options;
  const quirks = new Set(options.quirks);
  const clients = createClientRegistry(quirks, options.fetchDocument);
  const tokens = createTokenStore(quirks, () => self.lifetimeS);

  const token = (request: LoggedRequest): QuirkResponse => {
    const clientId = clientIdOf(request);
    if (clients.find(clientId) === undefined) return [401, { error: "invalid_client" }];
    if (request.form.get("grant_type") === "refresh_token") return tokens.refresh(request.form);
    const granted = tokens.exchange(request.form, clientId);
    if (granted !== undefined && quirks.has("client-forgotten")) clients.forget(clientId);
    return granted ?? [400, { error: "invalid_grant" }];
  };

  const respond = async (request: LoggedRequest): Promise<QuirkResponse> => {
    const { path } = request;
    if (path.includes("/.well-known/")) {
      const isOwn = path.endsWith(base) || path.startsWith(`${base}/.well-known/`);
      return isOwn ? metadataResponse(input, path) : [404, "no"];
    }
    switch (path) {
      case "/moved":
        return [200, serverMetadata(input)];
      case "/authorize":
        await clients.readDocument(request.query.get("client_id") ?? "", request.query.get("redirect_uri") ?? "");
        return authorize({ quirks, issuer, clients, tokens, consentPage }, request);
      case "/token":
        if (quirks.has("token-redirects-away")) return [307, "", { location: elsewhere }];
        await self.beforeToken?.();
        return token(request);
      case "/register":
        return clients.register(request);
      case "/revoke":
        tokens.revoke(request.form);
        return [200, ""];
      default:
        return [404, "no"];
    }
  };

  const server = await startLocalServer(options, respond);
  const { origin, requests } = server;
  const issuer = `${origin}${base}`;
  const scopes = options.scopes ?? ["notes:read", "notes:write", "admin", "offline_access"];
  const input: MetadataInput = { quirks, origin, issuer, scopes, elsewhere };
  const self: HostileAuthorizationServer = {
    ...server,
    ...tokens,
    issuer,
    quirks,
    lifetimeS: 3600,
    beforeToken: undefined,
    issued: () => tokens.issued,
    forgetClients: () => clients.forgetAll(),
    count: (path, grant) =>
      requests.filter(
        (request) => request.path === path && (grant === undefined || request.form.get("grant_type") === grant),
      ).length,
  };
  return self;
}

/** An address of this machine with another host, where nothing listens. */
export const nowhere = "http://127.0.0.2:1/elsewhere";

/** The inputs of the metadata of an authorization server. */
interface MetadataInput {
  readonly quirks: ReadonlySet<Quirk>;
  readonly origin: string;
  readonly issuer: string;
  readonly scopes: readonly string[];
  /** The target of redirects to another origin. */
  readonly elsewhere: string;
}

/** The response at a well-known URL of the authorization server. */
function metadataResponse(input: MetadataInput, path: string): QuirkResponse {
  const has = (quirk: Quirk): boolean => input.quirks.has(quirk);
  if (has("metadata-silent")) return "silence";
  if (has("metadata-huge")) return "flood";
  if (has("metadata-failing")) return [503, "down"];
  if (has("metadata-absent")) return [404, "no"];
  if (has("metadata-redirects-away")) return [302, "", { location: input.elsewhere }];
  if (has("metadata-redirects-within")) return [302, "", { location: "/moved" }];
  const isOpenId = path.includes("openid-configuration");
  if (has("metadata-html") && !isOpenId) return somePage;
  if (has("metadata-openid-only") && !isOpenId) return [404, "no"];
  return [200, serverMetadata(input)];
}

/** The metadata itself (RFC 8414). */
function serverMetadata({ quirks, origin, issuer, scopes }: MetadataInput): Record<string, unknown> {
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
