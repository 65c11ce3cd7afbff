import {
  type HostileAuthorizationServer,
  startHostileAuthorizationServer,
} from "./authorization-server/hostile-authorization-server.js";
import { startLocalServer } from "./local-server.js";
import type { LoggedRequest } from "./logged-request.js";
import type { Quirk } from "./quirk-table.js";
import { type HostileToolServer, startHostileToolServer } from "./tool-server/hostile-tool-server.js";

/** The places that a request can come to. */
export type QuirkyPlace = "tool server" | "authorization server" | "other authorization server" | "elsewhere";

/** Which quirks the servers have. */
export interface QuirksOptions {
  readonly quirks?: readonly Quirk[] | undefined;
  /** The port of the tool server. Default: one that is free. */
  readonly port?: number | undefined;
  /** How long access tokens live, in seconds. Default 3600. */
  readonly lifetimeS?: number | undefined;
  /** A scope that each request needs; 403 without it. Default none. */
  readonly neededScope?: string | undefined;
  /** Called with each request. */
  readonly onRequest?: ((place: QuirkyPlace, request: LoggedRequest) => void) | undefined;
}

/** A tool server and all that belongs to it. */
export interface Quirks {
  readonly tool: HostileToolServer;
  readonly authorization: HostileAuthorizationServer;
  /** The one that the tool server names once its mind changes; all is well with it. */
  readonly other: HostileAuthorizationServer;
  close(): Promise<void>;
}

/**
 * Starts a tool server, its authorization server, another one, and a server to which nothing should ever come: what redirects
 * lead away to. All listen on 127.0.0.1. Rejects if the port is in use.
 */
export async function startQuirks(options: QuirksOptions = {}): Promise<Quirks> {
  const { quirks = [], port, lifetimeS, neededScope, onRequest } = options;
  const heardAt =
    (place: QuirkyPlace): ((request: LoggedRequest) => void) =>
    (request) =>
      onRequest?.(place, request);
  const started: { close(): Promise<void> }[] = [];
  const keep = <Server extends { close(): Promise<void> }>(server: Server): Server => {
    started.push(server);
    return server;
  };
  const close = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.close()));
  };
  try {
    const trap = keep(await startLocalServer({ onRequest: heardAt("elsewhere") }, () => [404, "no"]));
    const elsewhere = `${trap.origin}/elsewhere`;
    const authorization = keep(
      await startHostileAuthorizationServer({ quirks, elsewhere, onRequest: heardAt("authorization server") }),
    );
    const other = keep(await startHostileAuthorizationServer({ onRequest: heardAt("other authorization server") }));
    if (lifetimeS !== undefined) authorization.lifetimeS = lifetimeS;
    const tool = keep(
      await startHostileToolServer({
        quirks,
        port,
        elsewhere,
        authorizationServers: [authorization.issuer],
        scopesOf: (token) => authorization.scopesOf(token),
        other,
        onRequest: heardAt("tool server"),
      }),
    );
    tool.neededScope = neededScope;
    return { tool, authorization, other, close };
  } catch (error) {
    await close();
    throw error;
  }
}
