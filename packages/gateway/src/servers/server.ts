import {
  type Clock,
  type Connection,
  type ConnectionInfo,
  type ListProblem,
  type Redact,
  type SecretRegistry,
  type ToolChange,
  ToolServerError,
} from "@wirescope/tool-server";
import type { CredentialDescription, OAuthLogin } from "@wirescope/tool-server/auth";
import type { Entry } from "@wirescope/tool-server/config";
import {
  abortable,
  describeDuration,
  errorObjectOf,
  type Implementation,
  metaKeys,
  metaOf,
  type RpcObject,
} from "@wirescope/tool-server/internal";
import type { CallObserver } from "../call-observer.js";
import type { ClientCall } from "../client-call.js";
import type { GatewayEvents } from "../events.js";
import { exposedPrefix } from "../exposed-name.js";
import type { GatewayLimits } from "../limits.js";
import { type Forwarded, forward } from "./forward.js";
import type { GatewayConfiguration } from "./gateway-configuration.js";
import { createServerCalls } from "./server-calls.js";
import { createServerConnection, type ServerConnectionOptions, type ServerFailure } from "./server-connection.js";
import { createServerLists, type ServerLists } from "./server-lists.js";
import { createServerNotifications } from "./server-notifications.js";
import { forwardServerRequest, offeredCapabilities } from "./server-requests.js";
import { createServerSubscriptions, type ServerSubscriptions } from "./server-subscriptions.js";
import type { TaskTable } from "./task-table.js";
import { createToolChanges } from "./tool-changes.js";
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
  /** What is omitted from its lists because it is invalid. */
  readonly listProblems: readonly ListProblem[];
  /** How its tools differ from their first definitions since its approval. */
  readonly toolChanges: readonly ToolChange[];
  readonly callsInFlight: number;
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
  /** Cancels calls during which the server has been silent for too long, and those that have waited too long to be sent. */
  cancelOverdue(): void;
  /** Connects at once if it is not connected, else loads its lists again. Resolves after the attempt, even if it failed. */
  reconnect(): Promise<void>;
  /** Pings it if it is connected. Rejects with its failure otherwise. */
  ping(): Promise<void>;
  /** The sign-in of the server; undefined if it has none, or could not be opened yet. */
  login(): OAuthLogin | undefined;
  /** The same, after the entry was opened. */
  oauth(): Promise<OAuthLogin | undefined>;
  status(): ServerStatus;
  /** Accepts differences of its tools that the status has. */
  acceptToolChanges(changes: readonly ToolChange[]): Promise<void>;
  /** Redacts text from the server: the user's secrets, and those that the server itself revealed. */
  readonly redact: Redact;
  /** Replaces the tool filter; calls of tools that are no longer offered are rejected. */
  setFilter(filter: ToolFilter | undefined): void;
  /**
   * Accepts no more calls, reports no more states, and cancels calls that were not sent. The others have `drainMs` to end; then the
   * connection is closed, and this resolves. `close` may be called meanwhile.
   */
  drain(): Promise<void>;
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
  /** Of the server that it replaces: clients stay subscribed. */
  readonly subscriptions: ServerSubscriptions | undefined;
  /** Whether tools and prompts keep the server's own names. */
  readonly isUnprefixed: boolean;
  readonly era: "auto" | "legacy";
  /** The tasks of all servers. */
  readonly tasks: Pick<TaskTable, "named" | "update">;
  readonly clock: Clock;
  readonly events: GatewayEvents;
  readonly observers: Pick<Required<CallObserver>, "forwarding">;
}

/** The maximum number of client notifications that wait to be sent to one server. */
const maxNotifications = 32;

export function createGatewayServer(options: GatewayServerOptions): GatewayServer {
  const { entry, configured, secrets, info, limits, clock, events, isUnprefixed } = options;
  const { name } = entry;
  const calls = createServerCalls({ server: name, limits, clock, events });
  /** Notifications that wait to be sent. */
  let notifications = 0;

  const settings: ServerConnectionOptions["settings"] = {
    ...configured,
    oauth: configured.oauth,
    secrets,
    isEager: true,
    limits: { messageBytes: limits.resultBytes },
    settings: {
      info,
      capabilities: offeredCapabilities,
      era: options.era,
      onRequest: ({ method, params }, origin) => forwardServerRequest(name, { method, params, origin }, calls.all),
      onNotification: ({ method, params }, origin) => onNotification(method, params ?? {}, origin),
      onStreamReopened: () => lists.recheck(),
    },
  };
  const connection = createServerConnection({
    entry,
    settings,
    clock,
    events,
    advise: (error) => adviseOnVariable(error, configured.setVariable),
    onReady() {
      subscriptions.renew();
      lists.reload();
    },
    onFailed: () => lists.clear(),
  });
  const redact: Redact = (text, kind) => (connection.current ?? secrets).redact(text, kind);
  const toolChanges = createToolChanges({ entry, trust: configured.trust, events, redact });
  const lists = createServerLists({
    server: name,
    limits,
    clock,
    filter: options.filter,
    isUnprefixed,
    events,
    open: async () => (await connection.open()).connection,
    onOmitted(method, reason, isTraced) {
      if (connection.isRetired) return;
      events.emit({ kind: "omitted", server: name, list: method, reason });
      if (!isTraced) connection.trace("warning", `Omitted from ${method} of the gateway: ${reason}`);
    },
    onToolsListed: connection.toolsListed,
    onTools: toolChanges.compare,
  });
  const onNotification = createServerNotifications({
    server: name,
    events,
    calls: calls.all,
    onListChanged: lists.refresh,
    tasks: options.tasks,
  });
  const subscriptions = options.subscriptions ?? createServerSubscriptions(clock);
  const currentConnection = (): Connection | undefined => connection.current;
  subscriptions.attach(currentConnection);

  const retire = (): void => {
    connection.retire();
    lists.close();
  };
  const close = async (): Promise<void> => {
    retire();
    await connection.close();
    subscriptions.detach(currentConnection);
  };

  void connection.open().catch(() => {});

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
    describe: () => connection.current?.server,
    isSettled: () => connection.isSettled,
    connectionInfo: () => connection.current?.info,
    setFilter: lists.setFilter,
    async forward(call, request) {
      calls.add(call);
      try {
        const current = connection.current ?? (await abortable(connection.open(), call, name)).connection;
        return await forward(current, call, request, options.observers);
      } finally {
        calls.remove(call);
      }
    },
    notify(method, params, capabilities) {
      const { current } = connection;
      if (current === undefined || connection.isRetired) return;
      if (notifications >= maxNotifications) {
        const reason = `A notification to server ${JSON.stringify(name)} was dropped: ${maxNotifications} others wait to be sent.`;
        events.emit({ kind: "refused", limit: "server-notifications", reason });
        return;
      }
      const isModern = current.server?.era === "modern" && capabilities !== undefined;
      const meta = isModern ? { _meta: { ...metaOf(params), [metaKeys.clientCapabilities]: capabilities } } : {};
      notifications += 1;
      current
        .notify(method, { ...params, ...meta })
        .catch((error: unknown) => connection.trace("info", `${method} was not sent: ${errorObjectOf(error).message}`))
        .finally(() => {
          notifications -= 1;
        });
    },
    cancelOverdue: calls.cancelOverdue,
    redact,
    acceptToolChanges: toolChanges.accept,
    async ping() {
      const { current, failure } = connection;
      if (current === undefined || failure !== undefined)
        throw (
          failure?.error ??
          new ToolServerError("SERVER_UNREACHABLE", {
            subject: name,
            problem: failure?.message ?? "It is not connected.",
            advice: "",
          })
        );
      await current.ping();
    },
    login: () => connection.login,
    oauth: async () => (await connection.open()).oauth,
    async reconnect() {
      const opened = connection.current ?? (await connection.open(true).catch(() => undefined))?.connection;
      if (opened === undefined) return;
      if (opened.state === "READY") lists.reload();
      else await opened.connect().catch(() => {});
      if (opened.state === "READY") await lists.tools.get();
    },
    status() {
      const { current, failure } = connection;
      const authentication = current?.info.credential();
      const server = current?.server;
      return {
        name,
        state: current?.state ?? (failure === undefined ? "IDLE" : "TRANSIENT_FAILURE"),
        target: current?.info.target,
        server: server === undefined ? undefined : { name: server.name, version: server.version },
        protocolVersion: server?.protocolVersion,
        credential: authentication?.summary,
        authentication,
        failure,
        tools: lists.tools.cached?.length,
        idlePatterns: lists.idlePatterns(),
        listProblems: lists.problems(),
        toolChanges: toolChanges.all,
        callsInFlight: calls.all.size,
      };
    },
    async drain() {
      retire();
      if (calls.all.size > 0) {
        const time = describeDuration(limits.drainMs);
        const text = `The server was changed or removed in the configuration. Its calls in flight have ${time} to end.`;
        connection.trace("info", text);
      }
      await calls.drain();
      await close();
    },
    close,
  };
}

/** An unset variable has to be set for the gateway, not for a command. */
function adviseOnVariable(error: unknown, setVariable: GatewayConfiguration["setVariable"]): unknown {
  if (!ToolServerError.is(error, "VARIABLE_UNUSABLE") || setVariable === undefined) return error;
  const { subject, problem, evidence, details } = error;
  const [variable] = details.unsetVariables ?? [];
  if (variable === undefined) return error;
  const parts = { subject, problem, evidence, advice: setVariable(variable) };
  return new ToolServerError("VARIABLE_UNUSABLE", parts, { cause: error, details });
}
