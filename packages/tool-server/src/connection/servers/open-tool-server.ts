import type { OAuthSession, TokenChange } from "../../auth/oauth/session/oauth-session.js";
import { type Clock, systemClock } from "../../clock.js";
import type { Entry } from "../../config/entry.js";
import { resolveEntry, type Variables } from "../../config/substitute-entry.js";
import { usesOAuth } from "../../config/variable-uses.js";
import type { ConnectionInfo, TransportInfo } from "../../connection-info.js";
import { createOperationTracker, createReporter } from "../../diagnostics.js";
import { createHttpClient } from "../../http/create-http-client.js";
import { isLauncher } from "../../process/resolve-command.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import type { Connection } from "../connection.js";
import { type ConnectionOptions, createConnection } from "../create-connection.js";
import { defaultLimits, type TransportLimits } from "../transports/transport.js";
import { createEntryCredential } from "./entry-credential.js";
import { createServerSecrets, reportHelperRun, targetOf, tenantOf } from "./entry-info.js";
import { createEntryOAuth, type OAuthSettings } from "./entry-oauth.js";
import type { SandboxSettings } from "./entry-sandbox.js";
import { createEntryTransport } from "./entry-transport.js";

/** How long the first handshake of a launcher may take, because it may download the server first. */
const launcherConnectMs = 180_000;

/**
 * Rejects, with NOT_TRUSTED, if an entry may not act with the variables that it is opened with: they may decide where its url leads.
 */
export type AssertTrusted = (entry: Entry, variables: Variables) => Promise<void>;

/** What all tool servers of a program have in common. */
export interface ToolServerSettings
  extends Pick<ConnectionOptions, "settings" | "isEager" | "idleTimeoutMs" | "connectTimeoutMs" | "backOff"> {
  /** Certificates of authorities to trust besides those that Node knows, in PEM. */
  readonly ca?: string | undefined;
  /** How servers are signed in to that ask for OAuth. Default: they are not, and their refusal is a failure. */
  readonly oauth?: OAuthSettings | undefined;
  /** How stdio servers and helpers are kept away from tokens. Default: in a sandbox that hides our own folders, if there is one; false: not. */
  readonly sandbox?: SandboxSettings | false | undefined;
  readonly limits?: Partial<TransportLimits> | undefined;
  readonly clock?: Clock | undefined;
}

/** A server that was opened. */
export interface OpenedToolServer {
  readonly connection: Connection;
  /** To sign in and out; undefined where the entry brings its own credential, and over pipes. */
  readonly oauth: OAuthSession | undefined;
}

/** What a connection to one entry is made of. */
export interface OpenToolServerOptions extends ToolServerSettings {
  readonly entry: Entry;
  /** Awaited before each start, connection and run of a helper. */
  readonly assertTrusted: AssertTrusted;
  /** All entries of the configuration: a helper does not get the secrets that only others use. */
  readonly entries: readonly Entry[];
  /** The user's variables, for one tenant; proxies are looked up here too. */
  readonly variables: Variables;
  readonly pluginRoot: string;
  /** Gets the user's own values. What the server makes known is replaced in the text about this server only. */
  readonly secrets: SecretRegistry;
}

/**
 * A connection to a server as its entry says, with its credential and, over the network, an HTTP client of its own. Nothing
 * is run or connected to before it is used. Throws VARIABLE_UNUSABLE, CREDENTIAL_UNUSABLE or CREDENTIAL_CONFLICT.
 */
export function openToolServer(options: OpenToolServerOptions): OpenedToolServer {
  const { entry, variables, pluginRoot, sandbox = {}, clock = systemClock } = options;
  const resolved = resolveEntry(entry, { variables, pluginRoot, secrets: options.secrets });
  const secrets = createServerSecrets(entry, options.secrets);
  const report = createReporter(secrets);
  const limits = { ...defaultLimits, ...options.limits };
  const info: ConnectionInfo = {
    kind: resolved.type,
    name: secrets.redact(entry.name),
    target: targetOf(resolved, secrets.redact),
    tenant: tenantOf(entry, variables),
    credential: () => credential.describe(),
  };
  let current: TransportInfo = { connection: info, target: info.target };
  const http =
    resolved.type === "stdio"
      ? undefined
      : createHttpClient({
          server: entry.name,
          transport: () => current,
          variables,
          tls: options.ca === undefined ? undefined : { ca: options.ca },
          secrets,
          connectMs: limits.connectMs,
          clock,
        });
  const oauth =
    options.oauth === undefined || http === undefined || resolved.type === "stdio" || !usesOAuth(entry)
      ? undefined
      : createEntryOAuth({
          settings: options.oauth,
          info,
          server: entry.name,
          url: resolved.url,
          http,
          secrets,
          clock,
          report,
        });
  const credential = createEntryCredential({
    ...options,
    secrets,
    resolved,
    clock,
    sandbox,
    onNoSandbox: (reason) => report(info, "warning", `Its helper runs without a sandbox. ${reason}`),
    oauth: oauth && {
      session: oauth,
      signIn: options.oauth?.signIn,
      login: options.oauth?.loginCommand?.(entry.name),
    },
    beforeRun: () => options.assertTrusted(entry, variables),
    onRun: (run) => reportHelperRun(report, info, run),
    track: createOperationTracker(info),
  });
  // A server may begin a session as often as it likes.
  const context = { secrets: { add: secrets.rotating().add, redact: secrets.redact }, report, clock, limits };
  const connection = createConnection({
    ...options,
    info,
    report,
    redact: secrets.redact,
    clock,
    firstConnectTimeoutMs:
      options.connectTimeoutMs === undefined && resolved.type === "stdio" && isLauncher(resolved.command)
        ? launcherConnectMs
        : undefined,
    isPersonAsked: oauth && options.oauth?.signIn ? () => oauth.isSigningIn : undefined,
    beforeOpen: () => options.assertTrusted(entry, variables),
    openTransport() {
      const parts = { resolved, connection: info, credential, http, variables, pluginRoot, sandbox, context };
      const opened = createEntryTransport(parts);
      current = opened.info;
      return opened;
    },
    async dispose() {
      stopWatching?.();
      await credential.dispose();
      await oauth?.close();
      await http?.close();
    },
  });
  // A connection that opens when it is used reads the vault then.
  const stopWatching = options.isEager ? oauth?.watch((change) => followTokens(connection, change)) : undefined;
  return { connection, oauth };
}

/** Makes a connection notice what another process did with its tokens. The result is in its state. */
function followTokens(connection: Connection, change: TokenChange): void {
  if (change === "signed-out") {
    // The server refuses it from now on, and observers of the connection see that.
    if (connection.state === "READY") void connection.ping().catch(() => {});
  } else if (connection.state !== "READY") void connection.connect().catch(() => {});
}
