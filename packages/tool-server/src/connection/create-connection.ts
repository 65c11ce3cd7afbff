import type { Client, RequestOptions } from "@modelcontextprotocol/client";
import type { BackOffLimits } from "../back-off.js";
import type { CallPhases } from "../call-phases.js";
import { type Cancellation, Canceller } from "../cancellation.js";
import { type Clock, maxTimerMs } from "../clock.js";
import type { ConnectionInfo, TransportInfo } from "../connection-info.js";
import type { Reporter } from "../diagnostics.js";
import { publish, publisherOf } from "../diagnostics.js";
import { ToolServerError } from "../errors.js";
import type { Mutable } from "../mutable.js";
import type { Redact } from "../secrets/redactor.js";
import { callFailure, noResponse, ownFailure, tooLong, withSent } from "./call-failure.js";
import { createCallProgram } from "./call-program.js";
import type { ClientSettings } from "./client-settings.js";
import type { CallOptions, ChangedList, Connection, ForwardedRequest } from "./connection.js";
import { closedConnection, endsSession, isRepeatable } from "./connection-failures.js";
import { afterIdleTimeout } from "./idle-timeout.js";
import { listMethods } from "./lists.js";
import { createEraMemory } from "./negotiate-era.js";
import { Call } from "./rpc/call.js";
import type { RpcObject } from "./rpc/json-rpc.js";
import { openSession, type ServerSession } from "./server-session.js";
import { abortable, createSessionManager } from "./session-manager.js";
import { createSelection, type OfferedTools } from "./tool-selection.js";
import type { ToolTransport } from "./transports/transport.js";

/** The options of a connection. */
export interface ConnectionOptions {
  readonly info: ConnectionInfo;
  /** Awaited before each transport is opened: rejects if the server may no longer be started or connected to. */
  readonly beforeOpen?: (() => Promise<void>) | undefined;
  /** A new transport to the server, not yet started. */
  readonly openTransport: () => { readonly transport: ToolTransport; readonly info: TransportInfo };
  /** Called when a handshake failed. Returns whether the next transport is of another kind and worth a try; may throw another error. */
  readonly changeTransport?: ((failure: unknown) => boolean) | undefined;
  /** The tools that are listed and can be called. Default: all. */
  readonly tools?: OfferedTools | undefined;
  /** The time limit of a forwarded request, in milliseconds. Default: none. */
  readonly forwardTimeoutMs?: number | undefined;
  readonly settings: ClientSettings;
  readonly report: Reporter;
  readonly redact: Redact;
  readonly clock: Clock;
  /** Whether it connects at once and reconnects automatically; otherwise it does so when it is used. Default false. */
  readonly isEager?: boolean | undefined;
  /** The maximum time without a response or progress during a call, in milliseconds. Default 60,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** The time limit for the handshake, in milliseconds. Default 30,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** The same until the first handshake succeeded: a launcher may have to download the server. Default `connectTimeoutMs`. */
  readonly firstConnectTimeoutMs?: number | undefined;
  /**
   * Whether a user is being asked to sign in for a waiting request. That time does not count towards the idle time-out. Default:
   * never.
   */
  readonly isWaitingForUser?: (() => boolean) | undefined;
  /** The delays between attempts to connect; ten times as long after a failure that only a user can fix. Default 500 to 30,000. */
  readonly backOff?: BackOffLimits | undefined;
  readonly random?: (() => number) | undefined;
  /** Disposes of the connection's parts after it closed. */
  readonly dispose?: (() => Promise<void>) | undefined;
}

const [callStarted, callSucceeded, callFailed] = [
  publisherOf("connection:call-started"),
  publisherOf("connection:call-succeeded"),
  publisherOf("connection:call-failed"),
];

/** Creates a connection over the transports that `openTransport` opens. */
export function createConnection(options: ConnectionOptions): Connection {
  const { info, report, redact, clock, isEager = false, settings, random = Math.random } = options;
  const { idleTimeoutMs = 60_000, connectTimeoutMs = 30_000, backOff = { firstMs: 500, maxMs: 30_000 } } = options;
  const { isWaitingForUser, firstConnectTimeoutMs = connectTimeoutMs } = options;
  let hasConnected = false;
  const era = createEraMemory(settings.era === "legacy");
  const listeners = new Set<(list: ChangedList) => void>();
  let closing: Promise<void> | undefined;
  const notify = createCallProgram({ info, report, redact });

  const open = async (signal: AbortSignal): Promise<ServerSession> => {
    for (;;) {
      await abortable(options.beforeOpen?.() ?? Promise.resolve(), signal, info.name);
      const opened = options.openTransport();
      try {
        const session = await openSession({
          ...opened,
          settings,
          era,
          connectTimeoutMs: hasConnected ? connectTimeoutMs : firstConnectTimeoutMs,
          isWaitingForUser,
          clock,
          signal,
          report,
          redact,
          onLost: (session, failure) => sessions.lose(session, failure),
          onListChanged: (list) => {
            for (const listener of [...listeners]) notify(listener, list);
          },
        });
        hasConnected = true;
        return session;
      } catch (error) {
        if (signal.aborted) throw error;
        if (!era.shouldRetry) {
          if (options.changeTransport?.(error)) continue;
          throw error;
        }
        const how = era.isModern ? "once more" : era.isSlow ? "with a longer time limit" : "without it";
        report(info, "info", `The probe for the newer protocol failed; retrying ${how}.`);
      }
    }
  };

  const sessions = createSessionManager({ info, open, redact, notify, clock, isEager, backOff, random });

  /**
   * Makes a call over the current or the next session, and repeats it once if that is safe. Every kind of call is counted,
   * checked and repeated here.
   */
  const runCall = async <Result>(
    method: string,
    signal: Cancellation | undefined,
    phases: CallPhases | undefined,
    timeoutMs: number,
    attempt: (session: ServerSession) => Promise<Result>,
  ): Promise<Result> => {
    callStarted(info);
    let wasSent = false;
    try {
      for (let mayRepeat = true; ; mayRepeat = false) {
        let session = sessions.live();
        if (session === undefined) {
          phases?.begin("connecting", info);
          session = await sessions.ensure(signal, false).catch((error: unknown) => {
            // A failed handshake was sent, but not this call.
            throw ToolServerError.is(error) ? withSent(error, wasSent) : error;
          });
          phases?.end("connecting", session.info);
        }
        session.beginCall();
        try {
          const result = await attempt(session);
          session.endCall(true);
          callSucceeded(info);
          return result;
        } catch (cause) {
          session.endCall(false);
          const error = toFailure(session, cause, method, signal, timeoutMs, !mayRepeat);
          if (!mayRepeat || signal?.aborted || !isRepeatable(error, method)) throw error;
          wasSent = error.details.wasSent !== false;
          report(info, "warning", `Retrying ${method}: ${error.message}`);
          phases?.retry(error.message);
        }
      }
    } catch (error) {
      callFailed(info);
      throw error;
    }
  };

  /** Converts the failure of a request, which may have ended its session. */
  const toFailure = (
    session: ServerSession,
    cause: unknown,
    method: string,
    signal: Cancellation | undefined,
    timeoutMs: number,
    isRepeated = false,
  ): ToolServerError => {
    const { transport } = session;
    const error =
      sessions.state().kind !== "closed" || signal?.aborted
        ? callFailure(cause, {
            server: info.name,
            method,
            signal,
            idleTimeoutMs: timeoutMs,
            transportFailure: transport.failure,
            strayOutput: transport.strayOutput?.(),
            redact,
          })
        : closedConnection(info.name, ownFailure(cause)?.details.wasSent ?? true);
    // A new session refuses the same, so neither was lost.
    const isRefusedAgain = isRepeated && error.code === "SESSION_LOST";
    // A transport that has failed may report its end only later, and a repetition must not use it.
    if (transport.failure !== undefined || (endsSession(error) && !isRefusedAgain))
      sessions.lose(session, transport.failure ?? error);
    return error;
  };

  /** A call by a typed method of the SDK's client, with time limits. */
  const call = async <Result>(
    method: string,
    invoke: (client: Client, options: RequestOptions) => Promise<Result>,
    given: CallOptions = {},
  ): Promise<Result> => {
    const own = new Canceller();
    const { signal, totalTimeoutMs, onProgress } = given;
    const timeoutMs = given.idleTimeoutMs ?? idleTimeoutMs;
    let wasSent = false;
    const onAbort = (): void => own.cancel(signal?.reason);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    const stopTotal =
      totalTimeoutMs === undefined
        ? undefined
        : clock.after(totalTimeoutMs, () => own.cancel(tooLong(method, info.name, totalTimeoutMs, wasSent)));
    let stopIdle = (): void => {};
    try {
      return await runCall(method, own, undefined, timeoutMs, (session) => {
        wasSent = true;
        const wait = (): void => {
          stopIdle();
          stopIdle = afterIdleTimeout({ timeoutMs, isWaitingForUser, clock }, () =>
            own.cancel(noResponse(info.name, method, timeoutMs, session.transport.strayOutput?.())),
          );
        };
        wait();
        return invoke(session.client, {
          // The SDK uses only this part of a signal, and an AbortSignal would cost a tenth of the call.
          signal: own as Cancellation as AbortSignal,
          // The SDK's limit would count the time in which a user signs in.
          timeout: maxTimerMs,
          onprogress(progress) {
            wait();
            if (onProgress !== undefined) notify(onProgress, progress);
          },
        });
      });
    } finally {
      stopIdle();
      stopTotal?.();
      signal?.removeEventListener("abort", onAbort);
    }
  };

  const lists = listMethods(call);
  const selection = createSelection(options.tools, info.name);
  const sendPlain = (forwardedCall: Call, request: ForwardedRequest): Promise<RpcObject> =>
    runCall(request.method, forwardedCall, forwardedCall.phases, idleTimeoutMs, (session) =>
      session.send(forwardedCall, request),
    );

  const { forwardTimeoutMs } = options;
  /** Applies the limits of the entry. Most entries have none, so their calls skip this function. */
  const sendLimited = async (forwardedCall: Call, request: ForwardedRequest): Promise<RpcObject> => {
    const stop =
      forwardTimeoutMs === undefined || request.method !== "tools/call"
        ? undefined
        : clock.after(forwardTimeoutMs, () =>
            forwardedCall.cancel(tooLong(request.method, info.name, forwardTimeoutMs, forwardedCall.wasSent)),
          );
    try {
      if (request.method === "tools/call") selection?.assertOffered(request.params.name);
      return selection === undefined
        ? await sendPlain(forwardedCall, request)
        : selection.applyTo(request.method, await sendPlain(forwardedCall, request));
    } finally {
      stop?.();
    }
  };
  const send = selection === undefined && forwardTimeoutMs === undefined ? sendPlain : sendLimited;

  const close = (): Promise<void> => {
    closing ??= (async () => {
      await sessions.close();
      await options.dispose?.();
      publish("connection:closed", { subject: info, reason: "It was closed." });
    })();
    return closing;
  };

  const connection: Mutable<Connection> = {
    info,
    state: "IDLE",
    server: undefined,
    async connect({ signal } = {}) {
      return (await sessions.ensure(signal, true)).server;
    },
    endDelay: sessions.endDelay,
    async ping(callOptions) {
      // The newer era has no ping; server/discover serves the same purpose.
      await call(
        "ping",
        async (client, request) => {
          if (client.getProtocolEra() === "modern") await client.discover(request);
          else await client.ping(request);
        },
        callOptions,
      );
    },
    ...lists,
    async listTools(callOptions) {
      const listed = await lists.listTools(callOptions);
      return selection === undefined ? listed : selection.applyTo("tools/list", listed);
    },
    async callTool(params, callOptions) {
      selection?.assertOffered(params.name);
      return call("tools/call", (client, request) => client.callTool(params, request), callOptions);
    },
    listProblems: (method) => sessions.live()?.listProblems(method) ?? [],
    readResource: (params, callOptions) =>
      call("resources/read", (client, request) => client.readResource(params, request), callOptions),
    getPrompt: (params, callOptions) =>
      call("prompts/get", (client, request) => client.getPrompt(params, request), callOptions),
    complete: (params, callOptions) =>
      call("completion/complete", (client, request) => client.complete(params, request), callOptions),
    call,
    send,
    async request(method, params, { totalTimeoutMs = idleTimeoutMs } = {}) {
      const own = new Call({ id: 0, method, params }, "modern");
      const stop = clock.after(totalTimeoutMs, () =>
        own.cancel(tooLong(method, info.name, totalTimeoutMs, own.wasSent)),
      );
      try {
        return await send(own, { method, params });
      } finally {
        stop();
      }
    },
    async notify(method, params) {
      const session = sessions.live();
      if (session === undefined) return;
      try {
        await session.notify(method, params);
      } catch (error) {
        throw toFailure(session, error, method, undefined, idleTimeoutMs);
      }
    },
    redact,
    onState: sessions.onState,
    onListChanged(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  sessions.onState(({ state }) => {
    connection.state = state;
    connection.server = sessions.live()?.server;
  });
  publish("connection:opened", info);
  if (isEager) sessions.begin();
  return connection;
}
