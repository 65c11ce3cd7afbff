import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable, Writable } from "node:stream";
import type { Registry } from "@wirescope/channelz/registry";
import type { Ask, OAuthLogin, SignInOptions } from "@wirescope/tool-server/auth";
import type { StdioClient } from "./endpoint/serve-stdio.js";
import type { GatewayConfiguration } from "./servers/gateway-configuration.js";
import type { ServerStatus } from "./servers/server.js";
import type { SettingsByServer } from "./servers/server-settings.js";
import type { Filters } from "./servers/servers.js";

/** How a gateway shuts down. */
export interface GatewayCloseOptions {
  /** Milliseconds for calls in flight to end; then they are cancelled. Default 5000. */
  readonly graceMs?: number | undefined;
}

/** A running gateway. */
export interface Gateway extends AsyncDisposable {
  /** The base URL, `http://host:port`; undefined if it does not listen. */
  readonly url: string | undefined;
  /** The URL for clients of Streamable HTTP; undefined if it does not listen on TCP. */
  readonly endpoint: string | undefined;
  /** The target for Channelz clients; undefined if it does not listen. */
  readonly address: string | undefined;
  /** The token that requests must carry, also those of `handler`; undefined if no token is required, or it is in a file. */
  readonly token: string | undefined;
  /** The additional token for administration requests that change something. */
  readonly adminToken: string;
  readonly registry: Registry;
  /** The current state of each server. */
  servers(): readonly ServerStatus[];
  /**
   * Applies a changed configuration. Servers that did not change keep their connection. Calls in flight on servers that changed or were
   * removed have `limits.drainMs` to end; it does not wait for them.
   */
  reload(configurations: readonly GatewayConfiguration[], tools?: Filters, servers?: SettingsByServer): Promise<void>;
  /** Connects a server at once if it is not connected, else loads its lists again. Rejects with SERVER_UNKNOWN. */
  reconnect(server: string): Promise<void>;
  /** Signs in to and out of a server by OAuth; undefined if its entry has its own credential. Rejects with SERVER_UNKNOWN. */
  oauth(server: string): Promise<OAuthLogin | undefined>;
  /**
   * Signs a user in to a server, or joins a sign-in in progress. Resolves after the sign-in and an attempt to connect. Rejects with SERVER_UNKNOWN, or as `OAuthLogin.signIn` does.
   */
  signIn(server: string, ask: Ask, options?: SignInOptions): Promise<void>;
  /**
   * Handles a request of your own HTTP/1.1 server, such as `app.all("/mcp", gateway.handler)` of express, as Streamable HTTP. You choose
   * the path; mount it before a parser of bodies. Host, Origin and token are checked as on the listener: `access` has the settings.
   * Connections and their limits are those of your server.
   */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** Serves one client over stdio, until its input ends. */
  serveStdio(input: Readable, output: Writable): StdioClient;
  /** Shuts down: accepts no new requests, waits for calls in flight, and closes everything. May be called twice. */
  close(options?: GatewayCloseOptions): Promise<void>;
}
