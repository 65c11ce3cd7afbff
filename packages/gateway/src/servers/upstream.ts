import {
  type Clock,
  type Connection,
  type ConnectionInfo,
  channels,
  type MessageOrigin,
  type OpenedToolServer,
  type SecretRegistry,
  ToolServerError,
} from "@wirescope/tool-server";
import type { CredentialDescription, OAuthSession } from "@wirescope/tool-server/auth";
import type { Entry } from "@wirescope/tool-server/config";
import type { Implementation, JsonObject } from "@wirescope/tool-server/internal";
import { openEntry } from "@wirescope/tool-server/internal";
import type { CallObserver } from "../call-observer.js";
import { type CachedList, createCachedList } from "../catalogue/cached-list.js";
import { exposedPrefix } from "../catalogue/exposed-name.js";
import { type Offered, type OfferedTool, offerPrompt, offerTool } from "../catalogue/offered.js";
import { createToolFilter, idlePatternsOf, type ToolFilter } from "../catalogue/tool-filter.js";
import { ClientCall } from "../client-call.js";
import type { GatewayListener } from "../events.js";
import type { GatewayLimits } from "../limits.js";
import type { NoticedList } from "../notices.js";
import { offeredCapabilities } from "./client-capability.js";
import { fetchList, type ListKind, listKinds } from "./fetch-list.js";
import { type Forwarded, forward } from "./forward.js";
import type { PluginServers } from "./plugin-servers.js";
import { passOnQuestion } from "./server-question.js";
import { createServerSubscriptions, type ServerSubscriptions } from "./server-subscriptions.js";
import { createUpstreamCalls, type Departure } from "./upstream-calls.js";

/** What is known of a server behind the gateway; a snapshot. */
export interface ServerStatus {
  readonly name: string;
  /** The state of its connection, in the words of Channelz. */
  readonly state: Connection["state"];
  /** The url, or `stdio:` and the command; undefined where the entry could not be used yet. */
  readonly target: string | undefined;
  /** What it calls itself, and the revision of the protocol, while it is connected. */
  readonly server: { readonly name: string | undefined; readonly version: string | undefined } | undefined;
  readonly protocolVersion: string | undefined;
  /** How it signs in, in one line. */
  readonly credential: string | undefined;
  readonly authentication: CredentialDescription | undefined;
  /** Why it failed last, and when; undefined where it did not since it last connected. */
  readonly failure: ServerFailure | undefined;
  /** How many tools it offers through the gateway; undefined where that is not known. */
  readonly tools: number | undefined;
  /** Patterns of its filter that matched none of its tools, when those were last listed. */
  readonly idlePatterns: readonly string[];
  readonly callsInFlight: number;
}

export interface ServerFailure {
  /** A code of ToolServerError; undefined if the failure is another. */
  readonly code: string | undefined;
  readonly message: string;
  /** The failure itself, with the parts of its message. */
  readonly error?: ToolServerError | undefined;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/** One server behind the gateway: its connection, its lists and its calls. */
export interface Upstream {
  readonly name: string;
  readonly entry: Entry;
  /** What the names of all that it offers begin with. */
  readonly prefix: string;
  readonly tools: CachedList<OfferedTool>;
  readonly prompts: CachedList<Offered>;
  readonly resources: CachedList<JsonObject>;
  readonly templates: CachedList<JsonObject>;
  /** What the server is asked to tell of by itself. */
  readonly subscriptions: ServerSubscriptions;
  /** What the server says of itself, while it is connected. */
  readonly description: Connection["server"];
  /** Whether it has connected or failed, for the first time. */
  readonly isSettled: boolean;
  readonly callsInFlight: number;
  /** The connection as those see it who watch; undefined where the entry could not be used yet. */
  readonly info: ConnectionInfo | undefined;
  /** Forwards a call. Rejects with an RpcError or a ToolServerError. */
  forward(call: ClientCall, request: Forwarded): Promise<JsonObject>;
  /** Cancels calls about which the server is silent for too long. */
  cancelSilent(): void;
  /** Tries at once, where it is not connected. Resolves when that is decided. */
  reconnect(): Promise<void>;
  /** To sign in and out by OAuth; undefined where the entry brings its own credential. */
  oauth(): Promise<OAuthSession | undefined>;
  status(): ServerStatus;
  /** Replaces secrets in text that the server chose: the user's, and those that the server made known. */
  redact(text: string): string;
  /** From now on other tools are offered, and the others are not called any more. */
  setFilter(filter: ToolFilter | undefined): void;
  /**
   * Goes out of use: takes no call, and its states are told no more. Calls in flight go on, for `drainMs` at the most; then
   * the connection is closed, and this resolves. May be closed meanwhile.
   */
  drain(why: Departure): Promise<void>;
  /** Closes the connection; calls in flight end with CONNECTION_CLOSED. */
  close(): Promise<void>;
}

export interface UpstreamOptions {
  readonly entry: Entry;
  readonly plugin: PluginServers;
  readonly secrets: SecretRegistry;
  readonly info: Implementation;
  readonly limits: GatewayLimits;
  readonly filter: ToolFilter | undefined;
  /** Those of the upstream whose place it takes. */
  readonly subscriptions: ServerSubscriptions | undefined;
  readonly isUnprefixed: boolean;
  readonly clock: Clock;
  readonly tell: GatewayListener;
  readonly onListChanged: (list: NoticedList) => void;
  /** A notification that is for clients. */
  readonly onNotification: (method: string, params: JsonObject, call: ClientCall | undefined) => void;
  readonly observers: Pick<Required<CallObserver>, "forwarding">;
}

const changedLists: Readonly<Record<string, readonly ListKind[]>> = {
  "notifications/tools/list_changed": ["tools"],
  "notifications/prompts/list_changed": ["prompts"],
  "notifications/resources/list_changed": ["resources", "templates"],
};

/** How long an entry that could not be opened is left alone, in milliseconds. */
const openPauseMs = 2000;
/** How long the list of a server may take in all, however long who asks waits. */
const loadMs = 60_000;

export function createUpstream(options: UpstreamOptions): Upstream {
  const { entry, plugin, secrets, info, limits, clock, tell, isUnprefixed } = options;
  const { name } = entry;
  const calls = createUpstreamCalls({ server: name, limits, clock });
  let connection: Connection | undefined;
  let opening: Promise<OpenedToolServer> | undefined;
  let failure: ServerFailure | undefined;
  let isSettled = false;
  /** Whether it is out of use, but for its calls in flight. */
  let isLeaving = false;
  let isClosed = false;

  const settings: Parameters<typeof openEntry>[0] = {
    ...plugin,
    secrets,
    isEager: true,
    settings: {
      info,
      capabilities: offeredCapabilities,
      onRequest: ({ method, params }, origin) => passOnQuestion(name, { method, params, origin }, calls.all),
      onNotification: ({ method, params }, origin) => hear(method, params ?? {}, origin),
    },
  };

  const open = (): Promise<OpenedToolServer> => {
    if (isClosed) {
      const parts = { problem: "The gateway was closed.", advice: "" };
      return Promise.reject(new ToolServerError("CONNECTION_CLOSED", parts));
    }
    if (opening !== undefined && !(failure !== undefined && connection === undefined && isRested())) return opening;
    opening = openEntry(settings, entry).then(
      (opened) => {
        connection = opened.connection;
        failure = undefined;
        // Another connection may have this name by then, and its states count.
        if (isLeaving) return opened;
        const server = connection.info.name;
        connection.onState(({ state, reason, failure: error }) => {
          if (isLeaving) return;
          tell({ kind: "server-state", server, state, reason });
          onState(state, reason, error);
        });
        onState(connection.state, undefined);
        return opened;
      },
      (error: unknown) => {
        isSettled = true;
        const message = error instanceof Error ? error.message : String(error);
        const known = ToolServerError.is(error) ? error : undefined;
        failure = { code: known?.code, message, error: known, at: clock.now() };
        if (!isLeaving) tell({ kind: "server-state", server: name, state: "TRANSIENT_FAILURE", reason: message });
        throw error;
      },
    );
    opening.catch(() => {});
    return opening;
  };
  const isRested = (): boolean => clock.now() - (failure?.at ?? 0) >= openPauseMs;

  const onState = (state: Connection["state"], reason: string | undefined, error?: ToolServerError): void => {
    if (state === "READY") {
      isSettled = true;
      failure = undefined;
      for (const list of Object.values(lists)) list.invalidate();
      subscriptions.renew();
      // So that the first who asks need not wait.
      for (const list of Object.values(lists)) void list.get();
    } else if (state === "TRANSIENT_FAILURE") {
      isSettled = true;
      failure = { code: error?.code, message: reason ?? "The connection failed.", error, at: clock.now() };
      for (const list of Object.values(lists)) list.clear();
    }
  };

  const hear = (method: string, params: JsonObject, origin: MessageOrigin): void => {
    if (method === "notifications/progress" || method === "notifications/cancelled") return;
    const changed = Object.hasOwn(changedLists, method) ? changedLists[method] : undefined;
    const call = origin.call instanceof ClientCall ? origin.call : undefined;
    // What is logged about a call that is over is for nobody; without a call it would be for everybody.
    if (method === "notifications/message" && origin.call !== undefined && (call === undefined || !calls.all.has(call)))
      return;
    if (changed === undefined) options.onNotification(method, params, call);
    else for (const kind of changed) refresh(kind);
  };

  const refresh = (kind: ListKind): void => {
    lists[kind].invalidate();
    options.onListChanged(kind === "templates" ? "resources" : kind);
  };

  /** What is not offered is left out; who `offer`s may note its name, to be told. */
  const listOf = <Item>(
    kind: ListKind,
    offer: (definition: JsonObject, leftOut: string[]) => Item | undefined,
  ): CachedList<Item> =>
    createCachedList<Item>({
      limitMs: limits.listMs,
      clock,
      async load() {
        const { connection: opened } = await open();
        // It is tried again by itself, and told of then: who asks now need not wait for it.
        if (opened.state === "TRANSIENT_FAILURE") throw new Error(failure?.message ?? "The connection failed.");
        const { items, ttlMs } = await fetchList(opened, kind, loadMs);
        if (kind === "tools") judgePatterns(items.map((item) => String(item.name)));
        const leftOut: string[] = [];
        const offered = items.flatMap((item) => offer(item, leftOut) ?? []);
        if (leftOut.length > 0) {
          tell({ kind: "left-out", server: name, list: listKinds[kind].method, reason: unusableTools(leftOut) });
        }
        return { items: offered, ttlMs };
      },
      onChanged: () => options.onListChanged(kind === "templates" ? "resources" : kind),
      onLeftOut(error) {
        if (isLeaving) return;
        const late = `It did not come within ${limits.listMs} ms; it is added when it does.`;
        const reason = error === undefined ? late : error instanceof Error ? error.message : String(error);
        tell({ kind: "left-out", server: name, list: listKinds[kind].method, reason });
        if (connection === undefined || !channels.trace.hasSubscribers) return;
        const text = connection.redact(`Left out of ${listKinds[kind].method} of the gateway: ${reason}`);
        channels.trace.publish({ subject: connection.info, severity: "warning", text });
      },
    });
  let { filter } = options;
  let isOffered = createToolFilter(filter);
  let idlePatterns: readonly string[] = [];
  const judgePatterns = (names: readonly string[]): void => {
    const before = idlePatterns;
    idlePatterns = idlePatternsOf(filter, names);
    for (const pattern of idlePatterns) {
      if (before.includes(pattern)) continue;
      const which = `${JSON.stringify(name)} has no tool ${JSON.stringify(pattern)}, which is allowed or denied.`;
      tell({ kind: "defect", reason: `The server ${which} Look at its tools, and change the list.` });
    }
  };
  const tools = listOf("tools", (tool, leftOut) => {
    if (!isOffered(String(tool.name))) return undefined;
    const offered = offerTool(name, tool, isUnprefixed);
    if (offered === undefined) leftOut.push(String(tool.name));
    return offered;
  });
  const prompts = listOf("prompts", (prompt) => offerPrompt(name, prompt, isUnprefixed));
  const resources = listOf("resources", (resource) => (typeof resource.uri === "string" ? resource : undefined));
  const templates = listOf("templates", (item) => (typeof item.uriTemplate === "string" ? item : undefined));
  const lists = { tools, prompts, resources, templates } satisfies Record<ListKind, CachedList<never> | object>;
  const subscriptions = options.subscriptions ?? createServerSubscriptions();
  subscriptions.attach(() => connection);

  const close = async (): Promise<void> => {
    isLeaving = true;
    isClosed = true;
    const opened = await opening?.catch(() => undefined);
    await opened?.connection.close();
  };

  void open().catch(() => {});

  return {
    name,
    entry,
    prefix: isUnprefixed ? "" : exposedPrefix(name),
    tools,
    prompts,
    resources,
    templates,
    subscriptions,
    get description() {
      return connection?.server;
    },
    get isSettled() {
      return isSettled;
    },
    get callsInFlight() {
      return calls.all.size;
    },
    get info() {
      return connection?.info;
    },
    setFilter(next) {
      filter = next;
      isOffered = createToolFilter(next);
      // Not used until the new ones are there: what is denied now may be among them.
      tools.clear();
      void tools.get();
    },
    async forward(call, request) {
      calls.add(call);
      try {
        return await forward(connection ?? (await open()).connection, call, request, options.observers);
      } catch (error) {
        // A limit of ours cancelled it, and says why.
        throw call.reason ?? error;
      } finally {
        calls.remove(call);
      }
    },
    cancelSilent: calls.cancelSilent,
    redact: (text) => (connection ?? secrets).redact(text),
    oauth: async () => (await open()).oauth,
    async reconnect() {
      if (connection === undefined) failure = failure && { ...failure, at: 0 };
      const opened = connection ?? (await open().catch(() => undefined))?.connection;
      if (opened !== undefined && opened.state !== "READY") await opened.connect().catch(() => {});
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
        tools: tools.known?.length,
        idlePatterns,
        callsInFlight: calls.all.size,
      };
    },
    async drain(why) {
      isLeaving = true;
      const { size } = calls.all;
      if (size > 0 && connection !== undefined && channels.trace.hasSubscribers) {
        const text = `It was ${why} in the configuration: calls in flight (${size}) have ${limits.drainMs} ms to end.`;
        channels.trace.publish({ subject: connection.info, severity: "info", text });
      }
      await calls.drain(why);
      await close();
    },
    close,
  };
}

/** Why tools are left out, in one line however many there are. */
function unusableTools(names: readonly string[]): string {
  const shown = names.slice(0, mostNamed).map((each) => JSON.stringify(each.slice(0, 100)));
  const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : "";
  const [subject, verb] = names.length === 1 ? ["The tool", "has"] : ["The tools", "have"];
  return `${subject} ${shown.join(", ")}${more} ${verb} no schema, or one that declares headers as is not allowed.`;
}

const mostNamed = 10;
