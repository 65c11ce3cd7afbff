import { type LocalServer, type LocalServerOptions, startLocalServer } from "../local-server.js";
import type { LoggedRequest } from "../logged-request.js";
import type { QuirkResponse } from "../quirk-response.js";
import type { Quirk } from "../quirk-table.js";
import { authorize, type ConsentPage } from "./authorize.js";
import { clientIdOf, createClientBook } from "./client-book.js";
import { type MetadataFacts, metadataResponse, serverMetadata } from "./server-metadata.js";
import { createTokenBook } from "./token-book.js";

/** An authorization server whose manners can be switched off one by one. It rotates refresh tokens and detects their reuse. */
export interface HostileAuthorizationServer extends LocalServer {
  readonly issuer: string;
  /** What is wrong with it, at any moment. */
  readonly quirks: Set<Quirk>;
  /** How long access tokens live, in seconds. Default 3600. */
  lifetimeS: number;
  /** Waits before each token response; for tests of what happens meanwhile. */
  beforeToken: (() => Promise<void>) | undefined;
  /** The scopes that a token is good for; undefined if it is not. */
  scopesOf(accessToken: string): readonly string[] | undefined;
  /** Ends an access token, as its expiry would. */
  endAccess(accessToken: string): void;
  endAllAccess(): void;
  /** Ends all refresh tokens. */
  endRefreshTokens(): void;
  /** Forgets all clients. */
  forgetClients(): void;
  /** Every token that was ever given. */
  issued(): readonly string[];
  /** How often a path was asked for, with this grant type if one is given. */
  count(path: string, grant?: string): number;
}

/** How an authorization server misbehaves. */
export interface HostileAuthorizationServerOptions extends LocalServerOptions {
  readonly quirks?: readonly Quirk[] | undefined;
  /** The path of its issuer. Default none. */
  readonly path?: string | undefined;
  /** The scopes that it says to know. */
  readonly scopes?: readonly string[] | undefined;
  /** Asks a person to allow or deny each sign-in. Default: all are allowed without asking. */
  readonly consentPage?: ConsentPage | undefined;
  /** The target of redirects to another origin. Default: an address where nothing listens. */
  readonly elsewhere?: string | undefined;
}

/** Starts it on a port of 127.0.0.1. Rejects if that is in use. */
export async function startHostileAuthorizationServer(
  options: HostileAuthorizationServerOptions = {},
): Promise<HostileAuthorizationServer> {
  const { path: base = "", elsewhere = nowhere, consentPage } = options;
  const quirks = new Set(options.quirks);
  const clients = createClientBook(quirks);
  const tokens = createTokenBook(quirks, () => self.lifetimeS);

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
      return isOwn ? metadataResponse(facts, path) : [404, "no"];
    }
    switch (path) {
      case "/moved":
        return [200, serverMetadata(facts)];
      case "/authorize":
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
  const facts: MetadataFacts = { quirks, origin, issuer, scopes, elsewhere };
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

/** An address of this machine, of another host and at a port where nobody listens. */
export const nowhere = "http://127.0.0.2:1/elsewhere";
