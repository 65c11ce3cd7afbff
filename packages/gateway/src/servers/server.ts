import {
  type Clock,
  type Connection,
  type ConnectionInfo,
  type OpenedToolServer,
  type SecretRegistry,
  ToolServerError,
} from "@wirescope/tool-server";
import type { CredentialDescription, OAuthSession, OAuthStep } from "@wirescope/tool-server/auth";
import type { Entry } from "@wirescope/tool-server/config";
import {
  createReporter,
  describeDuration,
  faultOf,
  type Implementation,
  metaKeys,
  metaOf,
  openEntry,
  type RpcObject,
} from "@wirescope/tool-server/internal";
import type { CallObserver } from "../call-observer.js";
import type { ClientCall } from "../client-call.js";
import type { GatewayEvents } from "../events.js";
import { exposedPrefix } from "../exposed-name.js";
import type { GatewayLimits } from "../limits.js";
import { type Forwarded, forward } from "./forward.js";
import type { GatewayConfiguration } from "./gateway-configuration.js";
import { createServerCalls, type DrainReason } from "./server-calls.js";
import { createServerLists, type ServerLists } from "./server-lists.js";
import { createServerNotifications } from "./server-notifications.js";
import { forwardServerRequest, offeredCapabilities } from "./server-requests.js";
import { createServerSubscriptions, type ServerSubscriptions } from "./server-subscriptions.js";
import type { TaskTable } from "./task-table.js";
import type { ToolFilter } from "./tool-filter.js";

/** The state of a server behind the gateway; a snapshot. */
export interface ServerStatus {
  readonly name: string;
  /** The state of its connection, as in Channelz. */
  readonly state: Connection["state"];
  /** The URL, or `stdio:` and the command; undefined if the entry could not be opened yet. */
  readonly target: string | undefined;
  /** Name and version of the server, while it is connected. */
  readonly server: { readonly name: string | undefined; readonly version: string | undefined } | undefined;
  readonly protocolVersion: string | undefined;
  /** How it authenticates, in one line. */
  readonly credential: string | undefined;
  readonly authentication: CredentialDescription | undefined;
  /** The last failure; undefined if it has not failed since it last connected. While it is connected: why its tools cannot be listed. */
  readonly failure: ServerFailure | undefined;
  /** How many tools it offers through the gateway; undefined if that is not known. */
  readonly tools: number | undefined;
  /** Patterns of its filter that matched no tool when its tools were last listed. */
  readonly idlePatterns: readonly string[];
  readonly callsInFlight: number;
}

/** Why a server failed last. */
export interface ServerFailure {
  /** The code of a ToolServerError; undefined for any other failure. */
  readonly code: string | undefined;
  readonly message: string;
  /** The failure itself, with the parts of its message. */
  readonly error?: ToolServerError | undefined;
  /** In milliseconds since the epoch. */
  readonly at: number;
  /** When the first of the failures since the last connection occurred, in milliseconds since the epoch. */
  readonly since: number;
}

/** One server behind the gateway: its connection, its lists and its calls. */
export interface GatewayServer extends Pick<ServerLists, "tools" | "prompts" | "resources" | "templates" | "skills"> {
  readonly name: string;
  readonly entry: Entry;
  /** The prefix of the names of its tools and prompts. */
  readonly prefix: string;
  readonly subscriptions: ServerSubscriptions;
  /** The server's description of itself, while it is connected. */
  describe(): Connection["server"];
  /** Whether it has connected or failed at least once. */
  isSettled(): boolean;
  /** Identifies the connection to observers; undefined if the entry could not be opened yet. */
  connectionInfo(): ConnectionInfo | undefined;
  /** Rejects with an RpcError or a ToolServerError. */
  forward(call: ClientCall, request: Forwarded): Promise<RpcObject>;
  /**
   * Forwards an extension notification if the server is connected. Dropped if it cannot be sent, or too many wait to be sent.
   * `capabilities` are the client's, if they are known.
   */
  notify(method: string, params: RpcObject, capabilities: RpcObject | undefined): void;
  /** Cancels calls during which the server has been silent for too long. */
  cancelSilent(): void;
  /** Connects at once if it is not connected, or lists its tools if that failed. Resolves after the attempt, even if it failed. */
  reconnect(): Promise<void>;
  /** To sign in and out by OAuth; undefined if the entry has its own credential. */
  oauth(): Promise<OAuthSession | undefined>;
  status(): ServerStatus;
  /** Redacts text from the server: the user's secrets, and those that the server itself revealed. */
  redact(text: string): string;
  /** Replaces the tool filter; calls of tools that are no longer offered are rejected. */
  setFilter(filter: ToolFilter | undefined): void;
  /**
   * Accepts no more calls and reports no more states. Calls in flight have `drainMs` to end; then the connection is closed, and
   * this resolves. `close` may be called meanwhile.
   */
  drain(why: DrainReason): Promise<void>;
  /** Closes the connection; calls in flight end with CONNECTION_CLOSED. */
  close(): Promise<void>;
}

export interface GatewayServerOptions {
  readonly entry: Entry;
  readonly configured: GatewayConfiguration;
  readonly secrets: SecretRegistry;
  readonly info: Implementation;
  readonly limits: GatewayLimits;
  readonly filter: ToolFilter | undefined;
  /** The subscriptions of the server that it replaces. */
  readonly subscriptions: ServerSubscriptions | undefined;
  /** Whether tools and prompts keep the server's own names. */
  readonly isUnprefixed: boolean;
  readonly era: "auto" | "legacy";
  /** The tasks of all servers. */
  readonly tasks: Pick<TaskTable, "named" | "update">;
  readonly clock: Clock;
  readonly events: GatewayEvents;
  readonly observers: Pick<Required<CallObserver>, "forwarding">;
  /** Called with each step of an OAuth flow. */
  readonly onOAuthStep: (step: OAuthStep) => void;
}

/** The maximum number of client notifications that wait to be sent to one server. */
const maxNotifications = 32;

/** Milliseconds until an entry that could not be opened is tried again. */
const openPauseMs = 2000;

export function createGatewayServer(options: GatewayServerOptions): GatewayServer {
  const { entry, configured, secrets, info, limits, clock, events, isUnprefixed } = options;
  const { name } = entry;
  const calls = createServerCalls({ server: name, limits, clock });
  let connection: Connection | undefined;
  /** The last attempt to open the entry, and whether it is in progress. */
  let opening: Promise<OpenedToolServer> | undefined;
  let isOpening = false;
  let failure: ServerFailure | undefined;
  let isSettled = false;
  /** Whether it only waits for its calls in flight. */
  let isDraining = false;
  let isClosed = false;
  /** Notifications that wait to be sent. */
  let notifications = 0;

  const settings: Parameters<typeof openEntry>[0] = {
    ...configured,
    oauth: configured.oauth && { ...configured.oauth, observer: { onStep: options.onOAuthStep } },
    secrets,
    isEager: true,
    limits: { messageBytes: limits.resultBytes },
    settings: {
      info,
      capabilities: offeredCapabilities,
      era: options.era,
      onRequest: ({ method, params }, origin) => forwardServerRequest(name, { method, params, origin }, calls.all),
      onNotification: ({ method, params }, origin) => onNotification(method, params ?? {}, origin),
    },
  };

  /** Opens the entry once; if that failed, again after a pause, unless that is skipped. */
  const open = (skipsPause = false): Promise<OpenedToolServer> => {
    if (isClosed) {
      const problem = `Server ${JSON.stringify(name)} is closed: it was removed from the configuration, or the gateway is shutting down.`;
      const parts = { problem, advice: "" };
      return Promise.reject(new ToolServerError("CONNECTION_CLOSED", parts));
    }
    const hasPaused = failure !== undefined && (skipsPause || clock.now() - failure.at >= openPauseMs);
    if (opening !== undefined && (isOpening || connection !== undefined || !hasPaused)) return opening;
    isOpening = true;
    opening = openEntry(settings, entry).then(
      (opened) => {
        isOpening = false;
        connection = opened.connection;
        failure = undefined;
        // Another connection may have this name by now, and its states are the ones to report.
        if (isDraining) return opened;
        connection.onState(({ state, reason, failure: error }) => {
          if (isDraining) return;
          events.emit({ kind: "server-state", server: name, state, reason, repeatKey: error?.details.repeatKey });
          onState(state, reason, error);
        });
        onState(connection.state, undefined);
        return opened;
      },
      (error: unknown) => {
        isOpening = false;
        isSettled = true;
        const message = error instanceof Error ? error.message : String(error);
        const known = ToolServerError.is(error) ? error : undefined;
        fail(message, known);
        if (!isDraining) {
          events.emit({ kind: "server-state", server: name, state: "TRANSIENT_FAILURE", reason: message });
        }
        throw error;
      },
    );
    opening.catch(() => {});
    return opening;
  };

  const fail = (message: string, error: ToolServerError | undefined): void => {
    const at = clock.now();
    failure = { code: error?.code, message, error, at, since: failure?.since ?? at };
  };

  const onToolsListed = (error?: unknown): void => {
    if (connection?.state !== "READY") return;
    if (error === undefined) failure = undefined;
    else fail(connection.redact(faultOf(error).message), ToolServerError.is(error) ? error : undefined);
  };

  const onState = (state: Connection["state"], reason: string | undefined, error?: ToolServerError): void => {
    if (state === "READY") {
      isSettled = true;
      failure = undefined;
      subscriptions.renew();
      lists.reload();
    } else if (state === "TRANSIENT_FAILURE") {
      isSettled = true;
      fail(reason ?? "The connection failed.", error);
      lists.clear();
    }
  };

  const lists = createServerLists({
    server: name,
    limits,
    clock,
    filter: options.filter,
    isUnprefixed,
    events,
    open: async () => (await open()).connection,
    onOmitted(method, reason) {
      if (isDraining) return;
      events.emit({ kind: "omitted", server: name, list: method, reason });
      trace("warning", `Omitted from ${method} of the gateway: ${reason}`);
    },
    onToolsListed,
  });
  const onNotification = createServerNotifications({
    server: name,
    events,
    calls: calls.all,
    hasStreamPerCall: () => connection?.info.kind === "http",
    onListChanged: lists.refresh,
    tasks: options.tasks,
  });
  const subscriptions = options.subscriptions ?? createServerSubscriptions();
  subscriptions.attach(() => connection);

  /** Adds an event to the trace of the connection in Channelz. */
  const trace = (severity: "info" | "warning", text: string): void => {
    if (connection !== undefined) createReporter(connection)(connection.info, severity, text);
  };

  const close = async (): Promise<void> => {
    isDraining = true;
    isClosed = true;
    lists.close();
    const opened = await opening?.catch(() => undefined);
    await opened?.connection.close();
  };

  void open().catch(() => {});

  return {
    name,
    entry,
    prefix: isUnprefixed ? "" : exposedPrefix(name),
    tools: lists.tools,
    prompts: lists.prompts,
    resources: lists.resources,
    templates: lists.templates,
    skills: lists.skills,
    subscriptions,
    describe: () => connection?.server,
    isSettled: () => isSettled,
    connectionInfo: () => connection?.info,
    setFilter: lists.setFilter,
    async forward(call, request) {
      calls.add(call);
      try {
        return await forward(connection ?? (await open()).connection, call, request, options.observers);
      } catch (error) {
        // If one of the gateway's limits cancelled the call, its reason explains more.
        throw call.reason ?? error;
      } finally {
        calls.remove(call);
      }
    },
    notify(method, params, capabilities) {
      if (connection === undefined || isDraining || notifications >= maxNotifications) return;
      const isModern = connection.server?.era === "modern" && capabilities !== undefined;
      const meta = isModern ? { _meta: { ...metaOf(params), [metaKeys.clientCapabilities]: capabilities } } : {};
      notifications += 1;
      connection
        .notify(method, { ...params, ...meta })
        .catch((error: unknown) => trace("info", `${method} was not sent: ${faultOf(error).message}`))
        .finally(() => {
          notifications -= 1;
        });
    },
    cancelSilent: calls.cancelSilent,
    redact: (text) => (connection ?? secrets).redact(text),
    oauth: async () => (await open()).oauth,
    async reconnect() {
      const opened = connection ?? (await open(true).catch(() => undefined))?.connection;
      if (opened !== undefined && opened.state !== "READY") await opened.connect().catch(() => {});
      else if (failure !== undefined) await lists.tools.get();
    },
    status() {
      const authentication = connection?.info.credential();
      const server = connection?.server;
      return {
        name,
        state: connection?.state ?? (failure === undefined ? "IDLE" : "TRANSIENT_FAILURE"),
        target: connection?.info.target,
        server: server === undefined ? undefined : { name: server.name, version: server.version },
        protocolVersion: server?.protocolVersion,
        credential: authentication?.summary,
        authentication,
        failure,
        tools: lists.tools.cached?.length,
        idlePatterns: lists.idlePatterns(),
        callsInFlight: calls.all.size,
      };
    },
    async drain(why) {
      isDraining = true;
      lists.close();
      const { size } = calls.all;
      const time = describeDuration(limits.drainMs);
      if (size > 0)
        trace("info", `The server was ${why} in the configuration. Its ${size} calls in flight have ${time} to end.`);
      await calls.drain(why);
      await close();
    },
    close,
  };
}
