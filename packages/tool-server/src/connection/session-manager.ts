import { type BackOffLimits, createBackOff } from "../back-off.js";
import type { Cancellation } from "../cancellation.js";
import { type Clock, untilAborted } from "../clock.js";
import type { ConnectionInfo, ConnectivityState } from "../connection-info.js";
import { publish } from "../diagnostics.js";
import { ToolServerError } from "../errors.js";
import type { Redact } from "../secrets/redactor.js";
import type { CallProgram } from "./call-program.js";
import type { StateListener } from "./connection.js";
import {
  closedConnection,
  delayedRetry,
  lostConnection,
  needsUserAction,
  redactFailure,
} from "./connection-failures.js";
import type { ServerSession } from "./server-session.js";

/** Manages the session of a connection: opens it, notices its end, and waits after failures. */
interface SessionManager {
  state(): ConnectionState;
  /** The current session; undefined if none is open. */
  live(): ServerSession | undefined;
  /**
   * The current session, or the next one. `isForced` skips the delay after a failure. Rejects with the reason if none can be
   * opened, and if the caller cancels; a connection attempt that others share continues.
   */
  ensure(signal: Cancellation | undefined, isForced: boolean): Promise<ServerSession>;
  /** Opens a session in the background; the result shows in the state. */
  begin(): void;
  /** Ends the delay after a failure: the next call tries again, or it does so at once if it reopens automatically. */
  endDelay(): void;
  /** A session has ended. Its lifetime decides whether the next one is opened at once or after a delay. */
  lose(session: ServerSession, failure: ToolServerError | undefined): void;
  /** Calls the listener for each change of the state, until the returned function is called. */
  onState(listener: StateListener): () => void;
  /** Ends the session and opens no other. */
  close(): Promise<void>;
}

interface SessionManagerOptions {
  readonly info: ConnectionInfo;
  /** Opens a session. Rejects with a ToolServerError, also if the signal aborts. */
  readonly open: (signal: AbortSignal) => Promise<ServerSession>;
  readonly redact: Redact;
  /** Calls a listener, and reports its error. */
  readonly notify: CallProgram;
  readonly clock: Clock;
  /** Whether it reopens automatically after a failure or an end. */
  readonly isEager: boolean;
  readonly backOff: BackOffLimits;
  readonly random: () => number;
}

/**
 * How much longer the delays are after a failure that only a user can fix. The fix may be made without notice to this process,
 * such as a key that the server accepts again, so retries continue, but not so often that they look like guessing.
 */
const refusalFactor = 10;

/** The maximum delay that a call waits for instead of failing at once. */
const maxWaitMs = 2000;

export function createSessionManager(options: SessionManagerOptions): SessionManager {
  const { info, open, redact, notify, clock, isEager, random } = options;
  let state: ConnectionState = { kind: "idle" };
  const backOff = createBackOff(options.backOff, clock, random);
  const { firstMs, maxMs } = options.backOff;
  const refusals = createBackOff({ firstMs: firstMs * refusalFactor, maxMs: maxMs * refusalFactor }, clock, random);
  const listeners = new Set<StateListener>();

  const setState = (next: ConnectionState, reason?: string): void => {
    const before = state;
    if (before.kind === "failing") before.cancel();
    state = next;
    if (before.kind !== next.kind) {
      const redacted = reason === undefined ? undefined : redact(reason, "own");
      const failure = next.kind === "failing" ? redactFailure(next.error, redact) : undefined;
      const change = { subject: info, state: connectivity[next.kind], reason: redacted, failure };
      for (const listener of [...listeners]) {
        notify(listener, change);
      }
      publish("connection:state", change);
    }
  };
  const onState = (listener: StateListener): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };

  const fail = (error: ToolServerError, pauseMs: number): void => {
    const cancel = isEager ? clock.after(pauseMs, () => void begin()) : () => {};
    setState({ kind: "failing", error, retryAt: clock.now() + pauseMs, cancel }, error.message);
  };

  const begin = (): Promise<ServerSession> => {
    const controller = new AbortController();
    const session = open(controller.signal).then(
      (opened) => {
        if (state.kind !== "connecting" || state.session !== session) {
          void opened.close("It is not needed any more.");
          throw closedConnection(info.name);
        }
        backOff.opened();
        refusals.opened();
        setState({ kind: "ready", session: opened });
        return opened;
      },
      (error: ToolServerError) => {
        if (state.kind !== "connecting" || state.session !== session) throw closedConnection(info.name);
        const failure = ToolServerError.is(error) ? redactFailure(error, redact) : error;
        fail(failure, (needsUserAction(failure) ? refusals : backOff).ended());
        throw failure;
      },
    );
    // Waiting callers get the failure; without callers it shows in the state.
    session.catch(() => {});
    setState({ kind: "connecting", session, cancel: () => controller.abort() });
    return session;
  };

  /** A listener of the state may have begun already, or closed the connection. */
  const beginIfIdle = (): void => {
    if (state.kind === "idle") void begin();
  };

  /** Waits for a time, or until the state changes. */
  const waitForRetry = async (delayMs: number, signal: Cancellation | undefined): Promise<void> => {
    let stop = (): void => {};
    const waited = new Promise<void>((resolve) => {
      const cancel = clock.after(delayMs, resolve);
      const unsubscribe = onState(() => resolve());
      stop = () => {
        cancel();
        unsubscribe();
      };
    });
    try {
      await abortable(waited, signal, info.name);
    } finally {
      stop();
    }
  };

  const ensure = async (signal: Cancellation | undefined, isForced: boolean): Promise<ServerSession> => {
    if (state.kind === "closed") throw closedConnection(info.name);
    if (state.kind === "ready") return state.session;
    if (state.kind === "failing" && !isForced) {
      const delayMs = state.retryAt - clock.now();
      if (delayMs > maxWaitMs || (delayMs > 0 && needsUserAction(state.error)))
        throw delayedRetry(state.error, delayMs, isEager);
      if (delayMs > 0) {
        await waitForRetry(delayMs, signal);
        return ensure(signal, isForced);
      }
    }
    return abortable(state.kind === "connecting" ? state.session : begin(), signal, info.name);
  };

  return {
    state: () => state,
    live: () => (state.kind === "ready" ? state.session : undefined),
    ensure,
    begin: () => void begin(),
    endDelay() {
      if (state.kind !== "failing") return;
      setState({ kind: "idle" });
      if (isEager) beginIfIdle();
    },
    lose(session, failure) {
      if (state.kind !== "ready" || state.session !== session) return;
      const pauseMs = (failure !== undefined && needsUserAction(failure) ? refusals : backOff).ended();
      const reason = failure?.message ?? "The server ended the connection.";
      if (pauseMs === 0 && failure?.code !== "SERVER_UNREACHABLE") {
        setState({ kind: "idle" }, reason);
        if (isEager) beginIfIdle();
      } else {
        fail(failure ?? lostConnection(info.name), pauseMs);
      }
      session.retire(reason);
    },
    onState,
    async close() {
      const before = state;
      setState({ kind: "closed" }, "It was closed.");
      if (before.kind === "connecting") {
        before.cancel();
        await before.session.catch(() => {});
      }
      if (before.kind === "ready") await before.session.close("The connection was closed.");
    },
  };
}

type ConnectionState =
  /** No session is open; the next call opens one. */
  | { readonly kind: "idle" }
  | { readonly kind: "connecting"; readonly session: Promise<ServerSession>; readonly cancel: () => void }
  | { readonly kind: "ready"; readonly session: ServerSession }
  /** It failed, and is retried at `retryAt`. */
  | {
      readonly kind: "failing";
      readonly error: ToolServerError;
      readonly retryAt: number;
      readonly cancel: () => void;
    }
  | { readonly kind: "closed" };

/** The connectivity states of Channelz. */
const connectivity = {
  idle: "IDLE",
  connecting: "CONNECTING",
  ready: "READY",
  failing: "TRANSIENT_FAILURE",
  closed: "SHUTDOWN",
} as const satisfies Record<ConnectionState["kind"], ConnectivityState>;

/** Waits for `promise` until the caller cancels; the shared work continues. */
export async function abortable<T>(promise: Promise<T>, signal: Cancellation | undefined, server: string): Promise<T> {
  if (signal === undefined) return promise;
  try {
    return await untilAborted(promise, signal);
  } catch (error) {
    if (signal.aborted && error === signal.reason && !ToolServerError.is(error)) throw cancelled(server, error);
    throw error;
  }
}

function cancelled(server: string, cause: unknown): ToolServerError {
  const problem = `The call to the server ${JSON.stringify(server)} was cancelled.`;
  return new ToolServerError("CALL_CANCELLED", { problem, advice: "" }, { cause, details: { wasSent: false } });
}
