import type { Client, RequestOptions } from "@modelcontextprotocol/client";
import { publish, publisherOf } from "../diagnostics/channels.js";
import type { ConnectionFacts, TransportFacts } from "../diagnostics/facts.js";
import type { Tell } from "../diagnostics/tell.js";
import { ToolServerError, type ToolServerErrorCode } from "../errors.js";
import { backOffMs, withJitter } from "../process/back-off.js";
import type { Clock } from "../process/clock.js";
import type { ToolTransport } from "../transports/transport.js";
import { callFailure, tooSilent } from "./call-failure.js";
import { limitCall, timerMs } from "./call-limit.js";
import { type ClientSession, openSession, type ServerDescription } from "./client-session.js";
import type { ClientSettings } from "./client-settings.js";
import type { CallOptions, Connection } from "./connection.js";
import { type ConnectionState, connectivityOf } from "./connection-state.js";
import { describeDuration } from "./duration.js";
import { limitIdle } from "./idle-limit.js";
import type { ChangedList } from "./list-changes.js";
import { createEraMemory } from "./negotiate-era.js";
import { redactFailure } from "./redact-failure.js";
import { type RelayHost, relayCall } from "./relay.js";
import { isSafeMethod } from "./safe-methods.js";

export interface ConnectionOptions {
  readonly facts: ConnectionFacts;
  /** Awaited before each transport: rejects where the server may not be started or connected to any more. */
  readonly beforeOpen?: (() => Promise<void>) | undefined;
  /** A new transport to the server, not yet started. */
  readonly openTransport: () => { readonly transport: ToolTransport; readonly facts: TransportFacts };
  readonly settings: ClientSettings;
  readonly tell: Tell;
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  /** Whether it connects at once, and again by itself where it failed. Else it does so when it is used. Default false. */
  readonly isEager?: boolean | undefined;
  /** How long a server may be silent during a call, in milliseconds. Default 60,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** How long the handshake may take, in milliseconds. Default 30,000. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Whether a person is asked to sign in right now, for a request that waits for it. Their time does not count as silence of the
   * server. Default: nobody ever is.
   */
  readonly isPersonAsked?: (() => boolean) | undefined;
  /** The pauses after failures, in milliseconds: the first, doubled each time, up to the longest. Default 500 to 30,000. */
  readonly backOff?: { readonly firstMs: number; readonly mostMs: number } | undefined;
  readonly random?: (() => number) | undefined;
  /** Ends what the connection was made of, after it closed. */
  readonly dispose?: (() => Promise<void>) | undefined;
}

const [callStarted, callSucceeded, callFailed] = [
  publisherOf("connection:call-started"),
  publisherOf("connection:call-succeeded"),
  publisherOf("connection:call-failed"),
];

/** A pause that a call waits for, rather than failing at once. */
const patienceMs = 2000;

/** A connection that lived this long was a good one: its end is no reason to wait. */
const stableMs = 10_000;

/** What a person has to mend: trying again by itself would only knock at the door. */
const needsPerson: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "UNAUTHORIZED",
  "FORBIDDEN",
  "SIGN_IN_NEEDED",
  "SIGN_IN_FAILED",
  "ISSUER_CHANGED",
  "NOT_TRUSTED",
  "CHILD_NOT_RUNNABLE",
  "CREDENTIAL_UNUSABLE",
  "HELPER_NOT_RUNNABLE",
  "REDIRECT_REFUSED",
]);

/** Failures that are of the connection and not of the one call. */
const endsSession: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "SERVER_UNREACHABLE",
  "SESSION_LOST",
  "CHILD_EXITED",
  "UNAUTHORIZED",
  "SIGN_IN_NEEDED",
]);

/** Makes a connection over transports that `openTransport` opens. */
export function createConnection(options: ConnectionOptions): Connection {
  const { facts, tell, redact, clock, isEager = false, settings, random = Math.random } = options;
  const { idleTimeoutMs = 60_000, connectTimeoutMs = 30_000, backOff = { firstMs: 500, mostMs: 30_000 } } = options;
  const { isPersonAsked } = options;
  const era = createEraMemory();
  const listeners = new Set<(list: ChangedList) => void>();
  let state: ConnectionState = { kind: "idle" };
  let failures = 0;
  /** Whether the session proved good: a handshake alone does not, for some servers die right after it. */
  let hasAnswered = false;
  let closing: Promise<void> | undefined;
  /** Calls that wait until a failure has rested. */
  const resting = new Set<() => void>();

  const setState = (next: ConnectionState, reason?: string): void => {
    const before = state;
    if (before.kind === "failing") before.callOff();
    state = next;
    if (before.kind !== next.kind) {
      const words = reason === undefined ? undefined : redact(reason);
      const code = next.kind === "failing" ? next.error.code : undefined;
      publish("connection:state", { subject: facts, state: connectivityOf(next), reason: words, code });
    }
    for (const wake of resting) wake();
  };

  const fail = (error: ToolServerError): void => {
    failures += 1;
    const pauseMs = withJitter(backOffMs(failures, backOff.firstMs, backOff.mostMs), random);
    const isRetried = isEager && !needsPerson.has(error.code);
    const callOff = isRetried ? clock.after(pauseMs, () => void begin().catch(() => {})) : () => {};
    setState({ kind: "failing", error, retryAt: clock.now() + pauseMs, callOff }, error.message);
  };

  /** The session is over. That is a reason to wait before the next only where it was short, or the server cannot be reached. */
  const lose = (session: ClientSession, failure: ToolServerError | undefined): void => {
    if (state.kind !== "ready" || state.session !== session) return;
    const isGood = hasAnswered || clock.now() - state.since >= stableMs;
    if (isGood) failures = 0;
    const reason = failure?.message ?? "The server ended the connection.";
    if (failure?.code === "SESSION_LOST" || (isGood && failure?.code !== "SERVER_UNREACHABLE")) {
      setState({ kind: "idle" }, reason);
      if (isEager) void begin().catch(() => {});
    } else {
      fail(failure ?? lostConnection(facts.name));
    }
    session.retire(reason);
  };

  const begin = (): Promise<ClientSession> => {
    const controller = new AbortController();
    const session = open(controller.signal).then(
      (opened) => {
        if (state.kind !== "connecting" || state.session !== session) {
          void opened.close("It is not needed any more.");
          throw closedConnection(facts.name);
        }
        hasAnswered = false;
        setState({ kind: "ready", session: opened, since: clock.now() });
        return opened;
      },
      (error: ToolServerError) => {
        if (state.kind !== "connecting" || state.session !== session) throw closedConnection(facts.name);
        const failure = ToolServerError.is(error) ? redactFailure(error, redact) : error;
        fail(failure);
        throw failure;
      },
    );
    // Who waits for it hears of a failure; with nobody waiting it is in the state.
    session.catch(() => {});
    setState({ kind: "connecting", session, cancel: () => controller.abort() });
    return session;
  };

  const open = async (signal: AbortSignal): Promise<ClientSession> => {
    for (;;) {
      await abortable(options.beforeOpen?.() ?? Promise.resolve(), signal, facts.name);
      const opened = options.openTransport();
      try {
        return await openSession({
          ...opened,
          settings,
          era,
          connectTimeoutMs: timerMs(connectTimeoutMs),
          isPersonAsked,
          clock,
          signal,
          tell,
          redact,
          onLost: lose,
          onListChanged: (list) => {
            for (const listener of listeners) listener(list);
          },
        });
      } catch (error) {
        if (!era.isWorthAnother || signal.aborted) throw error;
        const how = era.isSlow ? "with more patience" : "without it";
        tell(facts, "info", `It failed at the question for the newer protocol, and is tried once more ${how}.`);
      }
    }
  };

  /** The live session, or the one to come. `isForced` does not wait until a failure has rested. */
  const ensure = async (signal: AbortSignal | undefined, isForced: boolean): Promise<ClientSession> => {
    if (state.kind === "closed") throw closedConnection(facts.name);
    if (state.kind === "ready") return state.session;
    if (state.kind === "failing" && !isForced) {
      const restMs = state.retryAt - clock.now();
      if (restMs > patienceMs || (restMs > 0 && needsPerson.has(state.error.code))) throw rests(state.error, restMs);
      if (restMs > 0) {
        await rest(restMs, signal);
        return ensure(signal, isForced);
      }
    }
    return abortable(state.kind === "connecting" ? state.session : begin(), signal, facts.name);
  };

  /** Waits so long, or until the state is another one. */
  const rest = async (restMs: number, signal: AbortSignal | undefined): Promise<void> => {
    let wake = (): void => {};
    const callOff = clock.after(restMs, () => wake());
    const rested = new Promise<void>((resolve) => {
      wake = resolve;
      resting.add(wake);
    });
    try {
      await abortable(rested, signal, facts.name);
    } finally {
      callOff();
      resting.delete(wake);
    }
  };

  // One function, which waits for the answer alone: each more between a caller and the client was paid by every call.
  const call = async <Result>(
    method: string,
    invoke: (client: Client, options: RequestOptions) => Promise<Result>,
    given: CallOptions = {},
  ): Promise<Result> => {
    callStarted(facts);
    const total = given.totalTimeoutMs === undefined ? undefined : limitCall(given, method, facts.name, clock);
    const callOptions = total === undefined ? given : { ...given, ...total };
    const timeout = timerMs(callOptions.idleTimeoutMs ?? idleTimeoutMs);
    try {
      for (let mayRepeat = true; ; mayRepeat = false) {
        const session = state.kind === "ready" ? state.session : await ensure(callOptions.signal, false);
        const idle =
          isPersonAsked &&
          limitIdle(callOptions, { timeoutMs: timeout, isPersonAsked, clock }, () =>
            tooSilent(facts.name, method, timeout),
          );
        const { signal, onProgress } = idle ?? callOptions;
        const request: RequestOptions = {
          timeout: idle === undefined ? timeout : timerMs(Number.POSITIVE_INFINITY),
          resetTimeoutOnProgress: true,
          onprogress: onProgress ?? ignoreProgress,
          ...(signal === undefined ? {} : { signal }),
        };
        session.beginCall();
        try {
          const result = await invoke(session.client, request);
          session.endCall(true);
          hasAnswered = true;
          failures = 0;
          callSucceeded(facts);
          return result;
        } catch (cause) {
          session.endCall(false);
          const { error, isRepeated } = judge(session, cause, method, { signal, timeout });
          if (!mayRepeat || !isRepeated) throw error;
          tell(facts, "warning", `${method} is sent once more: ${error.message}`);
        } finally {
          idle?.end();
        }
      }
    } catch (error) {
      callFailed(facts);
      throw error;
    } finally {
      total?.end();
    }
  };

  /** What a request failed for over a session, which may be over with it. */
  const judge = (
    session: ClientSession,
    cause: unknown,
    method: string,
    { signal, timeout }: { readonly signal?: AbortSignal | undefined; readonly timeout: number },
  ): { readonly error: ToolServerError; readonly isRepeated: boolean } => {
    const { transport } = session;
    const error =
      closing === undefined || signal?.aborted
        ? callFailure(cause, {
            server: facts.name,
            method,
            signal,
            idleTimeoutMs: timeout,
            transportFailure: transport.failure,
            strays: transport.strays?.(),
            redact,
          })
        : closedConnection(facts.name);
    if (endsSession.has(error.code)) lose(session, error);
    return { error, isRepeated: isRepeatable(error, method) };
  };

  const relayHost: RelayHost = {
    facts,
    session: () => (state.kind === "ready" ? state.session : undefined),
    ensure: () => ensure(undefined, false),
    onAnswered() {
      hasAnswered = true;
      failures = 0;
    },
    judge(session, cause, method) {
      const judged = judge(session, cause, method, { timeout: idleTimeoutMs });
      if (judged.isRepeated) tell(facts, "warning", `${method} may be sent once more: ${judged.error.message}`);
      return judged;
    },
  };

  publish("connection:opened", facts);
  if (isEager) void begin().catch(() => {});

  return {
    facts,
    get state() {
      return connectivityOf(state);
    },
    get server(): ServerDescription | undefined {
      return state.kind === "ready" ? state.session.server : undefined;
    },
    async connect({ signal } = {}) {
      return (await ensure(signal, true)).server;
    },
    async ping(callOptions) {
      // The newer era has no ping; to ask the server for what it is answers the same question.
      await call(
        "ping",
        async (client, request) => {
          if (client.getProtocolEra() === "modern") await client.discover(request);
          else await client.ping(request);
        },
        callOptions,
      );
    },
    listTools: (callOptions) =>
      call("tools/list", (client, request) => client.listTools(undefined, request), callOptions),
    callTool: (params, callOptions) =>
      call("tools/call", (client, request) => client.callTool(params, request), callOptions),
    listResources: (callOptions) =>
      call("resources/list", (client, request) => client.listResources(undefined, request), callOptions),
    listResourceTemplates: (callOptions) =>
      call(
        "resources/templates/list",
        (client, request) => client.listResourceTemplates(undefined, request),
        callOptions,
      ),
    readResource: (params, callOptions) =>
      call("resources/read", (client, request) => client.readResource(params, request), callOptions),
    listPrompts: (callOptions) =>
      call("prompts/list", (client, request) => client.listPrompts(undefined, request), callOptions),
    getPrompt: (params, callOptions) =>
      call("prompts/get", (client, request) => client.getPrompt(params, request), callOptions),
    complete: (params, callOptions) =>
      call("completion/complete", (client, request) => client.complete(params, request), callOptions),
    call,
    relay: (request) => relayCall(relayHost, request),
    onListChanged(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      closing ??= (async () => {
        const before = state;
        setState({ kind: "closed" }, "It was closed.");
        if (before.kind === "connecting") {
          before.cancel();
          await before.session.catch(() => {});
        }
        if (before.kind === "ready") await before.session.close("The connection was closed.");
        await options.dispose?.();
        publish("connection:closed", { subject: facts, reason: "It was closed." });
      })();
      return closing;
    },
  };
}

function ignoreProgress(): void {}

/** Failures of the connection, after which the next attempt may do better. */
const mayPass: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "CONNECTION_LOST",
  "SESSION_LOST",
  "CHILD_EXITED",
  "SERVER_UNREACHABLE",
]);

/** Whether a call that failed so may be made again: it never arrived, or it changes nothing and the connection was at fault. */
function isRepeatable({ code, details }: ToolServerError, method: string): boolean {
  return mayPass.has(code) && (details.wasSent === false || isSafeMethod(method));
}

/** Waits for `promise` until the caller gives up; what was begun for all goes on. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined, server: string): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(ToolServerError.is(signal.reason) ? signal.reason : calledOff(server));
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function calledOff(server: string): ToolServerError {
  return new ToolServerError("CALL_CANCELLED", `The call to the server ${JSON.stringify(server)} was called off.`);
}

function closedConnection(server: string): ToolServerError {
  return new ToolServerError("CONNECTION_CLOSED", `The connection to the server ${JSON.stringify(server)} was closed.`);
}

function lostConnection(server: string): ToolServerError {
  return new ToolServerError("CONNECTION_LOST", `The server ${JSON.stringify(server)} ended the connection.`);
}

function rests(error: ToolServerError, restMs: number): ToolServerError {
  return new ToolServerError(
    error.code,
    `${error.message} It is tried again in ${describeDuration(Math.ceil(restMs / 1000) * 1000)}.`,
    { cause: error, details: { ...error.details, wasSent: false } },
  );
}
