import { type Clock, type Connection, type OpenedToolServer, ToolServerError } from "@wirescope/tool-server";
import type { Entry } from "@wirescope/tool-server/config";
import { backOffMs, createReporter, errorObjectOf, type Mutable, openEntry } from "@wirescope/tool-server/internal";
import type { GatewayEvents } from "../events.js";

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

/** The connection to a server behind the gateway, and its last failure. */
export interface ServerConnection {
  /** Undefined if the entry could not be opened yet. */
  readonly current: Connection | undefined;
  /** The sign-in of the server; undefined if it has none, or could not be opened yet. */
  readonly login: OpenedToolServer["oauth"];
  /** Undefined if it has not failed since it last connected. While it is connected: why its tools cannot be listed. */
  readonly failure: ServerFailure | undefined;
  /** Whether it has connected or failed at least once. */
  readonly isSettled: boolean;
  readonly isRetired: boolean;
  /** Opens the entry once. If that failed, it is opened again in the background, and by this after a pause, unless that is skipped. */
  open(skipsPause?: boolean): Promise<OpenedToolServer>;
  /** The tools were listed, or could not be. Ignored while it is not connected. */
  toolsListed(failure?: unknown): void;
  /** Adds an event to the trace of the connection in Channelz. */
  trace(severity: "info" | "warning", text: string): void;
  /** Reports no more states: another connection may have this name by now, and its states are the ones to report. */
  retire(): void;
  /** Closes the connection; it can no longer be opened. */
  close(): Promise<void>;
}

export interface ServerConnectionOptions {
  readonly entry: Entry;
  readonly settings: Parameters<typeof openEntry>[0];
  readonly clock: Clock;
  readonly events: Pick<GatewayEvents, "emit">;
  /** The error for clients and operators of the gateway. */
  readonly advise: (error: unknown) => unknown;
  readonly onReady: () => void;
  readonly onFailed: () => void;
}

/** The pause after which a client's request opens an entry again that could not be opened, in milliseconds. */
const openPauseMs = 2000;
/** The delay until it is opened again without a client, in milliseconds; doubled up to the maximum. */
const [retryMs, maxRetryMs] = [5000, 300_000];

export function createServerConnection(options: ServerConnectionOptions): ServerConnection {
  const { entry, settings, clock, events, onReady, onFailed } = options;
  const server = entry.name;
  /** The last attempt to open the entry, and whether it is in progress. */
  let opening: Promise<OpenedToolServer> | undefined;
  let isOpening = false;
  let retries = 0;
  let cancelRetry: (() => void) | undefined;
  let isClosed = false;

  const fail = (message: string, error: unknown): void => {
    const known = ToolServerError.is(error) ? error : undefined;
    const at = clock.now();
    connection.failure = { code: known?.code, message, error: known, at, since: connection.failure?.since ?? at };
  };

  const onState = (state: Connection["state"], reason: string | undefined, error?: ToolServerError): void => {
    if (state === "READY") {
      connection.isSettled = true;
      connection.failure = undefined;
      onReady();
    } else if (state === "TRANSIENT_FAILURE") {
      connection.isSettled = true;
      fail(reason ?? "The connection failed.", error);
      onFailed();
    }
  };

  const onOpened = (opened: OpenedToolServer): OpenedToolServer => {
    isOpening = false;
    cancelRetry?.();
    connection.current = opened.connection;
    connection.login = opened.oauth;
    connection.failure = undefined;
    if (connection.isRetired) return opened;
    opened.oauth?.context.log.subscribe((event) => {
      if ("operation" in event && event.operation === "sign-in") events.emit({ kind: "sign-in-changed", server });
    });
    opened.connection.onState(({ state, reason, failure: error }) => {
      if (connection.isRetired) return;
      events.emit({ kind: "server-state", server, state, reason, repeatKey: error?.details.repeatKey });
      onState(state, reason, error);
    });
    onState(opened.connection.state, undefined);
    return opened;
  };

  /** What the user has to fix may be fixed without notice to this process, such as a policy. */
  const scheduleRetry = (): void => {
    if (cancelRetry !== undefined) return;
    retries += 1;
    cancelRetry = clock.after(backOffMs(retries, retryMs, maxRetryMs), () => {
      cancelRetry = undefined;
      void connection.open(true).catch(() => {});
    });
  };

  const onNotOpened = (cause: unknown): never => {
    const error = options.advise(cause);
    isOpening = false;
    connection.isSettled = true;
    const reason = error instanceof Error ? error.message : String(error);
    const isNew = connection.failure?.message !== reason;
    fail(reason, error);
    if (!connection.isRetired) {
      if (isNew) events.emit({ kind: "server-state", server, state: "TRANSIENT_FAILURE", reason });
      scheduleRetry();
    }
    throw error;
  };

  const connection: Mutable<ServerConnection> = {
    current: undefined,
    login: undefined,
    failure: undefined,
    isSettled: false,
    isRetired: false,
    open(skipsPause = false) {
      if (isClosed) {
        const problem = `Server ${JSON.stringify(server)} is closed: it was removed from the configuration, or the gateway is shutting down.`;
        return Promise.reject(new ToolServerError("CONNECTION_CLOSED", { problem, advice: "" }));
      }
      const { current, failure } = connection;
      const hasPaused = failure !== undefined && (skipsPause || clock.now() - failure.at >= openPauseMs);
      if (opening !== undefined && (isOpening || current !== undefined || !hasPaused)) return opening;
      isOpening = true;
      opening = openEntry(settings, entry).then(onOpened, onNotOpened);
      opening.catch(() => {});
      return opening;
    },
    toolsListed(failure) {
      const { current } = connection;
      if (current?.state !== "READY") return;
      if (failure === undefined) connection.failure = undefined;
      else fail(current.redact(errorObjectOf(failure).message, "own"), failure);
    },
    trace(severity, text) {
      const { current } = connection;
      if (current !== undefined) createReporter(current)(current.info, severity, text);
    },
    retire() {
      connection.isRetired = true;
      cancelRetry?.();
    },
    async close() {
      connection.retire();
      isClosed = true;
      const opened = await opening?.catch(() => undefined);
      await opened?.connection.close();
    },
  };
  return connection;
}
