import { type ToolChange, ToolServerError } from "@wirescope/tool-server";
import { type RequestId, RpcError, type RpcObject, redactStart } from "@wirescope/tool-server/internal";

/** The client that made a call or has a session. */
export interface CallerFacts {
  /** Name and version, as the client states them. Not verified. */
  readonly clientName: string;
  /** The session id, shortened: enough to distinguish sessions, not enough to use one. */
  readonly session: string | undefined;
}

/** An event in a gateway, for a log or an audit. Contains no secrets, and no arguments unless `logsArguments` is set. */
export type GatewayEvent =
  | ({
      readonly kind: "call";
      readonly id: RequestId;
      readonly method: string;
      /** The server that handled it, or would have if it were not down. */
      readonly server: string | undefined;
      /** The tool, prompt or URI: as the server knows it, or as the client called it if no server has it. */
      readonly name: string | undefined;
      /** `tool-error`: the tool ran and reported a failure. `input`: the call waits for input from the client. */
      readonly outcome: "ok" | "tool-error" | "error" | "cancelled" | "input";
      /** Why it failed. */
      readonly reason: string | undefined;
      readonly durationMs: number;
      readonly arguments?: unknown;
    } & CallerFacts)
  | ({ readonly kind: "session-opened" | "session-closed"; readonly reason: string } & CallerFacts)
  | {
      readonly kind: "server-state";
      readonly server: string;
      readonly state: string;
      readonly reason: string | undefined;
      /** Equal for reasons that differ only in a variable part, such as a process id. Default: the reason. */
      readonly repeatKey?: string | undefined;
    }
  /** A server, or some of its tools, are missing from a list. Emitted when the reason changes, not for each list request. */
  | { readonly kind: "omitted"; readonly server: string; readonly list: string; readonly reason: string }
  /** A tool differs from its first definition since the approval of its server. Emitted once for each text. */
  | ({ readonly kind: "tool-changed"; readonly server: string } & Omit<ToolChange, "kind">)
  /** A user was asked to sign in, because a call needs it. */
  | { readonly kind: "sign-in"; readonly server: string; readonly reason: string }
  | { readonly kind: "refused"; readonly limit: string; readonly reason: string }
  | {
      readonly kind: "reloaded";
      readonly added: readonly string[];
      readonly removed: readonly string[];
      readonly changed: readonly string[];
    }
  /** Changed TLS certificates or CAs are in use from now on. */
  | { readonly kind: "certificates"; readonly files: readonly string[]; readonly reason: string }
  | { readonly kind: "defect"; readonly reason: string };

/** Receives the events of a gateway. Errors that it throws are ignored. */
export type GatewayListener = (event: GatewayEvent) => void;

/** A list whose changes clients are notified of. */
export type ChangingList = "tools" | "prompts" | "resources";

/** Every event within a gateway: log events, and events for clients or the administration service. */
export type InternalEvent =
  | GatewayEvent
  | { readonly kind: "list-changed"; readonly list: ChangingList }
  /** `uri` is the resource as its server knows it. */
  | { readonly kind: "resource-updated"; readonly server: string; readonly uri: string }
  /** Without a server, it is a sign-in of the gateway itself. */
  | { readonly kind: "elicitation-completed"; readonly server: string | undefined; readonly elicitationId: string }
  /** The state of a task for the legacy session that used it last, with the id that the client uses. */
  | { readonly kind: "task-status"; readonly session: string; readonly params: RpcObject }
  /** The state of a task of a modern server, for the modern clients that subscribe to it. `id` is the one that clients use. */
  | { readonly kind: "task-updated"; readonly id: string; readonly params: RpcObject }
  /** An extension notification about a task of a legacy session. */
  | {
      readonly kind: "extension-notification";
      readonly session: string;
      readonly method: string;
      readonly params: RpcObject;
    }
  /** A sign-in to a server has started or ended. */
  | { readonly kind: "sign-in-changed"; readonly server: string };

type Kind = InternalEvent["kind"];
type EventOf<K extends Kind> = Extract<InternalEvent, { readonly kind: K }>;

/** Event handlers, by kind of event. */
export type EventHandlers = { readonly [K in Kind]?: ((event: EventOf<K>) => void) | undefined };

export interface GatewayEvents {
  /**
   * Calls the handlers of the event's kind. `list-changed` and `resource-updated` are delayed and coalesced: a server may emit
   * them at any rate, and each is sent to every client.
   */
  emit(event: InternalEvent): void;
  /** Returns an unsubscribe function. Errors that a handler throws are reported as defects. */
  subscribe(handlers: EventHandlers): () => void;
  /** Whether events of this kind have a handler: if not, they need not be created. */
  hasSubscribers(kind: Kind): boolean;
  /** Emits a `defect` event for an unexpected error. */
  reportDefect(error: unknown): void;
  /** The same, unless it is an error for the client: an RpcError or a ToolServerError. */
  reportIfDefect(error: unknown): void;
  /** Drops delayed events and all handlers. */
  close(): void;
}

export interface GatewayEventsOptions {
  readonly onEvent?: GatewayListener | undefined;
  readonly redact?: ((text: string) => string) | undefined;
}

/** Milliseconds in which changes are collected into one event: servers that start together are one change. */
const collectMs = 25;
/** Minimum milliseconds between two `list-changed` events of one list. */
const listPauseMs = 250;

const logKinds: Readonly<Record<GatewayEvent["kind"], true>> = {
  call: true,
  "session-opened": true,
  "session-closed": true,
  "server-state": true,
  omitted: true,
  "tool-changed": true,
  "sign-in": true,
  refused: true,
  reloaded: true,
  certificates: true,
  defect: true,
};

/** The maximum length of the description of a defect, in characters: it may contain text from a client or a server. */
const maxDefectLength = 16_384;

export function createEvents({ onEvent, redact = (text) => text }: GatewayEventsOptions = {}): GatewayEvents {
  const handlers = new Map<Kind, Set<(event: never) => void>>();

  const deliver = (event: InternalEvent): void => {
    // Not copied: this runs for each call.
    for (const handler of handlers.get(event.kind) ?? none) {
      try {
        handler(event as never);
      } catch (error) {
        reportDefect(error);
      }
    }
  };
  const reportDefect = (error: unknown): void => {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    deliver({ kind: "defect", reason: redactStart(reason, maxDefectLength, redact) });
  };
  const subscribe = (given: EventHandlers): (() => void) => {
    const entries = Object.entries(given) as [Kind, ((event: never) => void) | undefined][];
    for (const [kind, handler] of entries) {
      if (handler === undefined) continue;
      const known = handlers.get(kind);
      if (known === undefined) handlers.set(kind, new Set([handler]));
      else known.add(handler);
    }
    return () => {
      for (const [kind, handler] of entries) if (handler !== undefined) handlers.get(kind)?.delete(handler);
    };
  };

  const changed = new Set<ChangingList>();
  /** When a list may be reported as changed again. */
  const pausedUntil = new Map<ChangingList, number>();
  let listTimer: NodeJS.Timeout | undefined;
  const flushLists = (): void => {
    listTimer = undefined;
    const now = performance.now();
    const due = [...changed].filter((list) => (pausedUntil.get(list) ?? 0) <= now);
    for (const list of due) {
      changed.delete(list);
      pausedUntil.set(list, now + listPauseMs);
    }
    if (changed.size > 0) {
      const next = Math.min(...[...changed].map((list) => pausedUntil.get(list) ?? 0));
      listTimer = setTimeout(flushLists, Math.max(collectMs, next - now));
    }
    for (const list of due) deliver({ kind: "list-changed", list });
  };
  const updated = new Map<string, EventOf<"resource-updated">>();
  let updateTimer: NodeJS.Timeout | undefined;
  const flushUpdates = (): void => {
    updateTimer = undefined;
    const updates = [...updated.values()];
    updated.clear();
    for (const update of updates) deliver(update);
  };

  if (onEvent !== undefined) {
    const log = (event: GatewayEvent): void => {
      try {
        onEvent(event);
      } catch {
        // A failing log must not affect the gateway, and there is no other place to report it to.
      }
    };
    subscribe(Object.fromEntries(Object.keys(logKinds).map((kind) => [kind, log])));
  }

  return {
    emit(event) {
      if (event.kind === "list-changed") {
        changed.add(event.list);
        listTimer ??= setTimeout(flushLists, collectMs);
      } else if (event.kind === "resource-updated") {
        updated.set(JSON.stringify([event.server, event.uri]), event);
        updateTimer ??= setTimeout(flushUpdates, collectMs);
      } else deliver(event);
    },
    subscribe,
    hasSubscribers: (kind) => (handlers.get(kind)?.size ?? 0) > 0,
    reportDefect,
    reportIfDefect(error) {
      if (!(error instanceof RpcError) && !ToolServerError.is(error)) reportDefect(error);
    },
    close() {
      clearTimeout(listTimer);
      clearTimeout(updateTimer);
      changed.clear();
      updated.clear();
      handlers.clear();
    },
  };
}

const none: ReadonlySet<(event: never) => void> = new Set();
