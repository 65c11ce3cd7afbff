import type { Registry } from "@wirescope/channelz";
import type { Clock, SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import type { Implementation } from "@wirescope/tool-server/internal";
import type { DebugSwitch } from "./admin/admin.js";
import type { GatewaySignIn } from "./dispatch/call-sign-ins.js";
import type { HttpHandler } from "./endpoint/http-request.js";
import type { GatewayListener } from "./events.js";
import type { GatewayLimits } from "./limits.js";
import type { GatewayAccessOptions, GatewayListenOptions } from "./listener/listen-options.js";
import type { PageOptions } from "./page/page.js";
import type { GatewayConfiguration } from "./servers/gateway-configuration.js";
import type { SettingsByServer } from "./servers/server-settings.js";
import type { Filters } from "./servers/servers.js";
import type { GatewayTelemetry } from "./telemetry-options.js";

/** The options of `runGateway`. */
export interface GatewayOptions {
  /** The servers of one or more configurations. If two define a server of the same name, the first is used. */
  readonly configurations: readonly GatewayConfiguration[];
  /** The secrets of all servers; the token of the gateway is added. */
  readonly secrets: SecretRegistry;
  /** Which tools are offered, by server. Default: all. */
  readonly tools?: Filters | undefined;
  /**
   * Whether tools and prompts keep their servers' own names, if clients accept those. Of two with the same name the first is
   * offered. Intended for a single server. Default false.
   */
  readonly isUnprefixed?: boolean | undefined;
  /** Settings of servers, by name. Default: none. */
  readonly servers?: SettingsByServer | undefined;
  /** The listener's options; false if it serves only `handler` and `serveStdio`. */
  readonly listen?: GatewayListenOptions | false | undefined;
  /** Which requests `handler` accepts, with `listen: false`; otherwise the settings of `listen` apply. Default: those with a new token. */
  readonly access?: GatewayAccessOptions | undefined;
  /** The Channelz registry. Default: a new one. */
  readonly registry?: Registry | undefined;
  /** The name and version that clients and servers see. Default: name `wirescope`. */
  readonly info?: Implementation | undefined;
  readonly limits?: Partial<GatewayLimits> | undefined;
  /** Receives events, for a log or an audit. */
  readonly onEvent?: GatewayListener | undefined;
  /** Whether `call` events contain the arguments, which may be confidential. Default false. */
  readonly logsArguments?: boolean | undefined;
  /**
   * Whether arguments and results of calls are captured, which may be confidential: for 15 minutes after the start, and again when an
   * administrator turns it on. They are kept in memory for 15 minutes, redacted, and only an administrator can read them. Default false.
   */
  readonly capturesBodies?: boolean | undefined;
  /**
   * Additional pages, by path. Requests need no token, as browsers send none, so each page does its own access control; Host and
   * Origin are checked before.
   */
  readonly pages?: Readonly<Record<string, HttpHandler>> | undefined;
  /** The page for browsers. Default: none. */
  readonly page?: PageOptions | undefined;
  /** Where spans and metrics are sent. Default: the global OpenTelemetry providers, if the application has set them. */
  readonly telemetry?: GatewayTelemetry | undefined;
  /** The program's debug mode, which the administration service can switch. Default: none. */
  readonly debug?: DebugSwitch | undefined;
  /**
   * Reads the configuration again and calls `reload`, when the administration service requests it. Rejects with a ToolServerError if it
   * cannot be read. Default: the administration service cannot reload.
   */
  readonly onReload?: (() => Promise<void>) | undefined;
  /** Why the last attempt to read the configuration again failed; undefined if it succeeded. Default: always undefined. */
  readonly reloadFailure?: (() => ToolServerError | undefined) | undefined;
  /** What the user should know about the program, each with what to do. The administration service shows it. Default: nothing. */
  readonly notes?: (() => readonly string[]) | undefined;
  /**
   * Asks the user to sign in when a call needs it, while the call waits. Only for a gateway whose clients run on the same machine, for
   * the same user. Default: such a call fails, and its error names the command that signs in.
   */
  readonly signIn?: GatewaySignIn | undefined;
  /**
   * Whom users ask about what only the operator of the gateway can fix, such as `#tools on Slack`: clients get "Ask ….", instead of the
   * commands that fix it. Default: they get the commands.
   */
  readonly contact?: (() => string | undefined) | undefined;
  readonly clock?: Clock | undefined;
}
