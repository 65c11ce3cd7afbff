import { createOAuthLogin, type OAuthLogin } from "../../auth/oauth/login/oauth-login.js";
import { type Clock, systemClock } from "../../clock.js";
import type { Entry } from "../../config/entry.js";
import type { ResolvedEntry, Variables } from "../../config/substitute-entry.js";
import { usesOAuth } from "../../config/variable-uses.js";
import type { ConnectionInfo, TransportInfo } from "../../connection-info.js";
import { createOperationTracker, createReporter } from "../../diagnostics.js";
import { createHttpClient } from "../../http/create-http-client.js";
import { isLauncher } from "../../process/resolve-command.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import type { Connection } from "../connection.js";
import { type ConnectionOptions, createConnection } from "../create-connection.js";
import { defaultLimits, type TransportLimits } from "../transports/transport.js";
import { createEntryCredential, createSecretReader } from "./entry-credential.js";
import { createServerSecrets, reportHelperRun, targetOf, tenantOf } from "./entry-info.js";
import { entryOAuthOptions, type OAuthSettings } from "./entry-oauth.js";
import type { SandboxSettings } from "./entry-sandbox.js";
import { createEntryTransport } from "./entry-transport.js";
import { createSseFallback } from "./sse-fallback.js";

/** The time limit for the first handshake of a launcher, which may download the server first. */
const launcherConnectMs = 180_000;

/**
 * Rejects with NOT_TRUSTED if an entry may not be used with these variables, which may decide the origin of its URL.
 */
export type AssertTrusted = (entry: Entry, variables: Variables) => Promise<void>;

/** The settings that all tool servers of a program share. */
export interface ToolServerSettings
  extends Pick<ConnectionOptions, "settings" | "isEager" | "idleTimeoutMs" | "connectTimeoutMs" | "backOff"> {
  /** CA certificates to trust in addition to Node's, in PEM. */
  readonly ca?: string | undefined;
  /** How to sign in to servers that use OAuth. Default: not at all, and a rejection is a failure. */
  readonly oauth?: OAuthSettings | undefined;
  /** How stdio servers and helpers are isolated from tokens. Default: a sandbox that hides our own folders, if available; false: none. */
  readonly sandbox?: SandboxSettings | false | undefined;
  readonly limits?: Partial<TransportLimits> | undefined;
  readonly clock?: Clock | undefined;
}

/** An opened server. */
export interface OpenedToolServer {
  readonly connection: Connection;
  /** To sign in and out; undefined if the entry has its own credential, and for stdio servers. */
  readonly oauth: OAuthLogin | undefined;
}

/** The dependencies of a connection to one entry. */
export interface OpenToolServerOptions extends ToolServerSettings {
  readonly entry: Entry;
  /** The same entry with its variables substituted. */
  readonly resolved: ResolvedEntry;
  /** Awaited before each start, connection and run of a helper. */
  readonly assertTrusted: AssertTrusted;
  /** All entries of the configuration: a helper does not get the secrets that only others use. */
  readonly entries: readonly Entry[];
  /** The user's variables, for one tenant; also the proxy settings. */
  readonly variables: Variables;
  readonly pluginRoot: string;
  /** Receives the user's values. Secrets learned from the server are redacted only in text about this server. */
  readonly secrets: SecretRegistry;
}

/**
 * Opens a connection for an entry, with its credential and, for a network server, its own HTTP client. Nothing is started or
 * connected before it is used. Throws CREDENTIAL_UNUSABLE or CREDENTIAL_CONFLICT.
 */
export function openToolServer(options: OpenToolServerOptions): OpenedToolServer {
  const { entry, resolved, variables, sandbox = {}, clock = systemClock } = options;
  const secrets = createServerSecrets(entry, options.secrets);
  const report = createReporter(secrets);
  const limits = { ...defaultLimits, ...options.limits };
  const fallback =
    resolved.type !== "stdio" && resolved.fallsBackToSse
      ? createSseFallback((text) => report(info, "info", text))
      : undefined;
  const info: ConnectionInfo = {
    get kind() {
      return fallback?.type ?? resolved.type;
    },
    name: secrets.redact(entry.name, "own"),
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
  const track = createOperationTracker(info);
  const program = resolved.secretCommands.length === 0 ? "helper" : "command";
  const parts = {
    ...options,
    oauth: undefined,
    secrets,
    userSecrets: options.secrets,
    resolved,
    clock,
    sandbox,
    onNoSandbox: (reason: string) => report(info, "warning", `Its ${program} runs without a sandbox. ${reason}`),
    beforeRun: () => options.assertTrusted(entry, variables),
  };
  const oauth =
    options.oauth === undefined || http === undefined || resolved.type === "stdio" || !usesOAuth(entry)
      ? undefined
      : createOAuthLogin({
          ...entryOAuthOptions({
            settings: options.oauth,
            info,
            server: entry.name,
            url: resolved.url,
            oauth: resolved.oauth,
            secretReader: (own) => createSecretReader(parts, own),
            http,
            secrets,
            clock,
            report,
            track,
          }),
        });
  const credential = createEntryCredential({
    ...parts,
    oauth: oauth && {
      session: oauth,
      signIn: options.oauth?.signIn,
      // A server that code names has no line in a file, and no command finds it.
      login: options.oauth?.loginCommand?.(entry.name) ?? (entry.line === 0 ? false : undefined),
    },
    onRun: (run) => reportHelperRun(report, info, run),
    track,
  });
  // Bounded, because a server may start any number of sessions.
  const context = { secrets: { add: secrets.rotating().add, redact: secrets.redact }, report, clock, limits };
  const connection = createConnection({
    ...options,
    info,
    report,
    redact: secrets.redact,
    clock,
    tools: entry.tools,
    idleTimeoutMs: options.idleTimeoutMs ?? entry.callTimeoutMs,
    forwardTimeoutMs: entry.callTimeoutMs,
    connectTimeoutMs: options.connectTimeoutMs ?? entry.connectTimeoutMs,
    firstConnectTimeoutMs:
      options.connectTimeoutMs === undefined &&
      entry.connectTimeoutMs === undefined &&
      resolved.type === "stdio" &&
      isLauncher(resolved.command)
        ? launcherConnectMs
        : undefined,
    isWaitingForUser: oauth && options.oauth?.signIn ? () => oauth.isSigningIn : undefined,
    beforeOpen: () => options.assertTrusted(entry, variables),
    changeTransport: fallback?.afterFailure,
    openTransport() {
      const network = resolved.type === "stdio" ? resolved : { ...resolved, type: fallback?.type ?? resolved.type };
      const transportOptions = { resolved: network, connection: info, credential, http, variables, sandbox, context };
      const opened = createEntryTransport(transportOptions);
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
  const stopWatching = oauth?.watch((change) => {
    if (change !== "signed-out") connection.endDelay();
    // The server rejects it from now on, which the ping makes visible in the state. A connection that opens on demand makes no
    // request by itself, because it may ask the user to sign in.
    else if (options.isEager && connection.state === "READY") void connection.ping().catch(() => {});
  });
  return { connection, oauth };
}
