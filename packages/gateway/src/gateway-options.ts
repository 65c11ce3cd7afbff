import type { ListenLimits, ListenTls, Registry } from "@wirescope/channelz";
import type { Clock, SecretRegistry } from "@wirescope/tool-server";
import type { Implementation } from "@wirescope/tool-server/internal";
import type { DebugSwitch } from "./debug-switch.js";
import type { HttpHandler } from "./endpoint/http-exchange.js";
import type { GatewayListener } from "./events.js";
import type { GatewayLimits } from "./limits.js";
import type { PluginServers } from "./servers/plugin-servers.js";
import type { Filters } from "./servers/upstreams.js";
import type { GatewaySignIn } from "./sign-in/call-sign-ins.js";
import type { GatewayTelemetry } from "./telemetry/telemetry-options.js";

/** What a gateway is made of. */
export interface GatewayOptions {
  /** The servers behind it, of one plugin or of several. Where two have a server of one name, the first is used. */
  readonly plugins: readonly PluginServers[];
  /** Knows the secrets of all of them; the token of the gateway is added. */
  readonly secrets: SecretRegistry;
  /** Which tools of a server are offered, by its name. Default: all. */
  readonly tools?: Filters | undefined;
  /**
   * Whether tools and prompts keep the names that their servers gave them, where clients take those. Of two that share a name
   * the first is offered. For one server alone. Default false.
   */
  readonly isUnprefixed?: boolean | undefined;
  /** Where it listens; false for one that is reached by pipes alone. */
  readonly listen?: GatewayListenOptions | false | undefined;
  /** Where everything is shown. Default: a registry of its own. */
  readonly registry?: Registry | undefined;
  /** What it calls itself, to clients and to servers. Default `wirescope`. */
  readonly info?: Implementation | undefined;
  readonly limits?: Partial<GatewayLimits> | undefined;
  /** Hears what happens: for a log, and for an audit of calls. */
  readonly onEvent?: GatewayListener | undefined;
  /** Whether the arguments of calls are told in events. They may hold what nobody should read. Default false. */
  readonly tellsArguments?: boolean | undefined;
  /**
   * More pages, by path. They are asked for without the token, as browsers do, and see to it themselves who may use them; Host
   * and Origin are judged before.
   */
  readonly pages?: Readonly<Record<string, HttpHandler>> | undefined;
  /** Where spans and metrics go. Default: to what the application set up for OpenTelemetry before, if it did. */
  readonly telemetry?: GatewayTelemetry | undefined;
  /** The debug mode of the program, which the administration switches. Default: it has none. */
  readonly debug?: DebugSwitch | undefined;
  /**
   * Reads the configuration again and calls `reload` with it, if the administration asks for that. Rejects with a ToolServerError if it
   * cannot be read. Default: the administration cannot ask for it.
   */
  readonly onReload?: (() => Promise<void>) | undefined;
  /**
   * Lets a person sign in when a call needs it, and makes the call wait for them. Only for a gateway whose clients run on its
   * machine, for the same person. Default: such a call fails, and its error names the command that signs in.
   */
  readonly signIn?: GatewaySignIn | undefined;
  readonly clock?: Clock | undefined;
}

/** Where a gateway listens, and who may call. */
export interface GatewayListenOptions {
  /** Default `127.0.0.1`. One that other machines can reach needs TLS, and a token or client certificates. */
  readonly host?: string | undefined;
  /** Default 0: any that is free. */
  readonly port?: number | undefined;
  /** A Unix socket, in place of host and port. */
  readonly path?: string | undefined;
  readonly tls?: ListenTls | undefined;
  /** The bearer token that every request must carry; false for none, on this machine alone. Default: a new one. */
  readonly token?: string | false | undefined;
  /** A file that holds the token, in place of `token`. */
  readonly tokenFile?: string | undefined;
  /** Names that the Host header may carry, besides those of this machine. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Origins of pages that may call, besides its own. */
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly limits?: Partial<ListenLimits> | undefined;
}
