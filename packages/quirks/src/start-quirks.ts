import {
  type HostileAuthorizationServer,
  startHostileAuthorizationServer,
} from "./authorization-server/hostile-authorization-server.js";
import { type LoggedRequest, startLocalServer } from "./local-server.js";
import type { Quirk } from "./quirk-table.js";
import { type HostileToolServer, startHostileToolServer } from "./tool-server/hostile-tool-server.js";

/** The server that received a request. */
export type QuirksServer = "tool server" | "authorization server" | "other authorization server" | "elsewhere";

/** Options of the servers. */
export interface QuirksOptions {
  readonly quirks?: readonly Quirk[] | undefined;
  /** The port of the tool server. Default: any free port. */
  readonly port?: number | undefined;
  /** The lifetime of access tokens in seconds. Default 3600. */
  readonly lifetimeS?: number | undefined;
  /** A scope that each request requires; 403 without it. Default: none. */
  readonly neededScope?: string | undefined;
  /** Called with each request. */
  readonly onRequest?: ((server: QuirksServer, request: LoggedRequest) => void) | undefined;
}

/** A tool server and its authorization servers. */
export interface Quirks {
  readonly tool: HostileToolServer;
  readonly authorization: HostileAuthorizationServer;
  /** The conforming authorization server that the tool server names later, with the quirk issuer-changes. */
  readonly other: HostileAuthorizationServer;
  close(): Promise<void>;
}

/**
 * Starts a tool server, its authorization server, another one, and a server that no client should send a request to: the target
 * of redirects to another origin. All listen on 127.0.0.1. Rejects if the port is in use.
 */
export async function startQuirks(options: QuirksOptions = {}): Promise<Quirks> {
  const { quirks = [], port, lifetimeS, neededScope, onRequest } = options;
  const logAs =
    (server: QuirksServer): ((request: LoggedRequest) => void) =>
    (request) =>
      onRequest?.(server, request);
  const started: { close(): Promise<void> }[] = [];
  const keep = <Server extends { close(): Promise<void> }>(server: Server): Server => {
    started.push(server);
    return server;
  };
  const close = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.close()));
  };
  try {
    const trap = keep(await startLocalServer({ onRequest: logAs("elsewhere") }, () => [404, "no"]));
    const elsewhere = `${trap.origin}/elsewhere`;
    const authorization = keep(
      await startHostileAuthorizationServer({ quirks, elsewhere, onRequest: logAs("authorization server") }),
    );
    const other = keep(await startHostileAuthorizationServer({ onRequest: logAs("other authorization server") }));
    if (lifetimeS !== undefined) authorization.lifetimeS = lifetimeS;
    const tool = keep(
      await startHostileToolServer({
        quirks,
        port,
        elsewhere,
        authorizationServers: [authorization.issuer],
        scopesOf: (token) => authorization.scopesOf(token),
        other,
        onRequest: logAs("tool server"),
      }),
    );
    tool.neededScope = neededScope;
    return { tool, authorization, other, close };
  } catch (error) {
    await close();
    throw error;
  }
}
