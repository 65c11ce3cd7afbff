import { Client, type ClientCapabilities, SdkError, SdkErrorCode, type Transport } from "@modelcontextprotocol/client";
import { defaultClientInfo } from "../client-info.js";
import { type Clock, maxTimerMs } from "../clock.js";
import type { ConnectivityState, TransportInfo } from "../connection-info.js";
import type { Reporter } from "../diagnostics.js";
import { publish, publisherOf } from "../diagnostics.js";
import { messageOf, type ToolServerError } from "../errors.js";
import type { Redact } from "../secrets/redactor.js";
import { callFailure, slowHandshake } from "./call-failure.js";
import type { ClientSettings, MessageOrigin, ServerDescription } from "./client-settings.js";
import type { ChangedList, ForwardedRequest } from "./connection.js";
import { afterIdleTimeout } from "./idle-timeout.js";
import { createListCheck, type ListProblem } from "./listed-items.js";
import { listChangedMethods, listChangeHandlers, watchSubscription } from "./lists.js";
import { connectClient, type EraMemory, probeTimeoutMs } from "./negotiate-era.js";
import type { Call } from "./rpc/call.js";
import { metaOf, type RequestId, type RpcObject } from "./rpc/json-rpc.js";
import { Peer, type RelatedCall } from "./rpc/peer.js";
import { metaKeys } from "./rpc/protocol.js";
import { createSchemaValidator } from "./schema-validator.js";
import type { ToolTransport } from "./transports/transport.js";

const [callStarted, callSucceeded, callFailed] = [
  publisherOf("transport:call-started"),
  publisherOf("transport:call-succeeded"),
  publisherOf("transport:call-failed"),
];

/** An SDK client on one transport, from the handshake to the end. */
export interface ServerSession {
  readonly transport: ToolTransport;
  readonly info: TransportInfo;
  readonly server: ServerDescription;
  /** For typed methods. Each call is started and ended through this session, so that it is counted and `close` waits for it. */
  readonly client: Client;
  beginCall(): void;
  endCall(isSuccess: boolean): void;
  /** Sends a request for a call. Settles as `Peer.request` does. */
  send(call: Call, request: ForwardedRequest): Promise<RpcObject>;
  /** Sends a notification. Rejects as the transport does. */
  notify(method: string, params: RpcObject): Promise<void>;
  /** What was omitted when a list was last requested. */
  listProblems(method: string): readonly ListProblem[];
  /** Ends it for this reason after the calls in flight have ended, so that each gets its own result. */
  retire(reason: string): void;
  /** Ends it now. */
  close(reason: string): Promise<void>;
}

export interface SessionOptions {
  readonly transport: ToolTransport;
  readonly info: TransportInfo;
  readonly settings: ClientSettings;
  readonly era: EraMemory;
  /** The time limit for the whole handshake. */
  readonly connectTimeoutMs: number;
  /** Whether a user is being asked to sign in, which does not count towards time limits. Default: never. */
  readonly isWaitingForUser?: (() => boolean) | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: Reporter;
  readonly redact: Redact;
  /** Called if the transport ends or drains after the handshake without `close`, or its subscription cannot be reopened. */
  readonly onLost: (session: ServerSession, failure: ToolServerError | undefined) => void;
  readonly onListChanged: (list: ChangedList) => void;
}

/** Connects a client over a transport. Rejects with a ToolServerError; then the transport is closed. */
export async function openSession(options: SessionOptions): Promise<ServerSession> {
  const { transport, info, settings, redact, report, clock } = options;
  let session: ServerSession | undefined;
  let isOver = false;
  const setState = (state: ConnectivityState, reason?: string): void =>
    publish("transport:state", { subject: info, state, reason });
  const end = (text: string): void => {
    if (isOver) return;
    isOver = true;
    const reason = redact(text, "own");
    setState("SHUTDOWN", reason);
    publish("transport:closed", { subject: info, reason });
  };

  const lists = createListCheck((text) => report(info, "warning", text));
  /** The calls that server requests belong to, by request id: the client dispatches the requests asynchronously. */
  const callsOfRequests = new Map<RequestId, RelatedCall>();
  const peer = new Peer(
    transport,
    (message, call) => {
      if (!("id" in message)) settings.onNotification?.(message, { info, call });
      else if (call !== undefined) {
        const { id } = message;
        callsOfRequests.set(id, call);
        // The client handles or rejects some requests itself.
        setImmediate(() => callsOfRequests.delete(id));
      }
    },
    lists.check,
  );

  publish("transport:opened", info);
  setState("CONNECTING");
  transport.onclose = () => {
    const wasOver = isOver;
    peer.end(new SdkError(SdkErrorCode.ConnectionClosed, "Connection closed"));
    peer.clientTransport.onclose?.();
    end(transport.failure?.message ?? "The transport closed.");
    if (session !== undefined && !wasOver) options.onLost(session, transport.failure);
  };
  const lose = (failure: ToolServerError): void => {
    if (session !== undefined && !isOver) options.onLost(session, failure);
  };
  transport.ondraining = lose;
  const onStreamReopened = (): void => {
    // The client also drops the lists that it has cached.
    for (const method of listChangedMethods) peer.clientTransport.onmessage?.({ jsonrpc: "2.0", method });
    settings.onStreamReopened?.();
  };
  transport.onstreamreopened = onStreamReopened;
  const times = handshakeTimes(options);
  const client = new Client(settings.info ?? defaultClientInfo, {
    capabilities: capabilitiesOf(settings),
    listChanged: listChangeHandlers(options.onListChanged),
    jsonSchemaValidator: createSchemaValidator(),
    versionNegotiation: { mode: "auto", probe: { timeoutMs: times.probeMs } },
  });
  client.onerror = (error) => {
    if (!isOver) report(info, "info", `Out of band: ${error.message}`);
  };
  const { onRequest } = settings;
  if (onRequest !== undefined) {
    client.fallbackRequestHandler = (request, { mcpReq: { signal: requestSignal } }) => {
      const origin: MessageOrigin = { info, call: callsOfRequests.get(request.id), signal: requestSignal };
      callsOfRequests.delete(request.id);
      return onRequest(request, origin);
    };
  }
  settings.prepare?.(client, info);

  try {
    await connectInTime(options, client, peer.clientTransport, times);
  } catch (error) {
    end(messageOf(error));
    await transport.close().catch(() => {});
    throw error;
  }
  setState("READY");

  const stopWatching = watchSubscription(client, clock, () => isOver, onStreamReopened, lose);
  let inFlight = 0;
  let retirement: string | undefined;
  const close = async (reason: string): Promise<void> => {
    end(reason);
    stopWatching();
    await client.close().catch(() => {});
    await transport.close().catch(() => {});
  };
  const description = describeServer(client);
  const envelope = description.era === "legacy" ? undefined : envelopeOf(settings, description);
  session = {
    transport,
    info,
    server: description,
    client,
    send(call, { method, params, metaFor, onAttempt, headers }) {
      onAttempt?.(description);
      const own = metaFor === undefined ? metaOf(params) : metaFor(description);
      return peer.request(call, method, params, envelope === undefined ? own : { ...envelope, ...own }, headers);
    },
    notify(method, params) {
      const own = metaOf(params);
      const whole = envelope === undefined ? params : { ...params, _meta: { ...envelope, ...own } };
      return peer.notify({ jsonrpc: "2.0", method, params: whole });
    },
    listProblems: lists.problems,
    beginCall() {
      callStarted(info);
      inFlight += 1;
    },
    endCall(isSuccess) {
      if (isSuccess) callSucceeded(info);
      else callFailed(info);
      inFlight -= 1;
      if (inFlight === 0 && retirement !== undefined) void close(retirement);
    },
    retire(reason) {
      retirement ??= reason;
      if (inFlight === 0) void close(reason);
    },
    close,
  };
  return session;
}

interface HandshakeTimes {
  /** The time limit of each request, in milliseconds. */
  readonly requestMs: number;
  /** The time limit of the probe for the newer era, in milliseconds. */
  readonly probeMs: number;
}

function handshakeTimes({ transport, era, connectTimeoutMs, isWaitingForUser }: SessionOptions): HandshakeTimes {
  // The SDK's own limit would count the time in which a user signs in.
  const requestMs = isWaitingForUser === undefined ? Math.min(connectTimeoutMs, maxTimerMs) : maxTimerMs;
  return { requestMs, probeMs: probeTimeoutMs(transport, era, requestMs) };
}

/** Does the handshake within its time limit. Rejects with a ToolServerError. */
async function connectInTime(
  options: SessionOptions,
  client: Client,
  clientTransport: ToolTransport,
  { requestMs, probeMs }: HandshakeTimes,
): Promise<void> {
  const { transport, info, era, connectTimeoutMs, isWaitingForUser, clock, signal, redact } = options;
  const { name: server } = info.connection;
  const giveUp = (): void => void transport.close().catch(() => {});
  signal.addEventListener("abort", giveUp, { once: true });
  // The SDK limits the requests of a handshake, but not its notification.
  let tooLong: ToolServerError | undefined;
  const stopTimer = afterIdleTimeout({ timeoutMs: connectTimeoutMs, isWaitingForUser, clock }, () => {
    tooLong = slowHandshake(server, connectTimeoutMs, transport.strayOutput?.());
    giveUp();
  });
  callStarted(info);
  try {
    signal.throwIfAborted();
    await connectClient(client, clientTransport as Transport & ToolTransport, era, requestMs, probeMs);
    signal.throwIfAborted();
  } catch (error) {
    callFailed(info);
    const transportFailure = transport.failure;
    const strayOutput = transport.strayOutput?.();
    const call = { server, method: "the handshake", signal, idleTimeoutMs: connectTimeoutMs };
    const failed = { ...call, transportFailure, strayOutput, redact };
    throw tooLong ?? callFailure(error, failed);
  } finally {
    stopTimer();
    signal.removeEventListener("abort", giveUp);
  }
  callSucceeded(info);
}

/** The program's capabilities, and the extensions that every connection implements. */
function capabilitiesOf({ capabilities = {} }: ClientSettings): ClientCapabilities {
  return { ...capabilities, extensions: { ...ownExtensions, ...capabilities.extensions } };
}

/** How tokens can be obtained: https://modelcontextprotocol.io/extensions/auth/overview. */
const ownExtensions: NonNullable<ClientCapabilities["extensions"]> = {
  "io.modelcontextprotocol/enterprise-managed-authorization": {},
  "io.modelcontextprotocol/oauth-client-credentials": {},
};

/** The `_meta` keys that describe this client in every request of the newer era. */
function envelopeOf(settings: ClientSettings, { protocolVersion }: ServerDescription): RpcObject {
  return {
    [metaKeys.protocolVersion]: protocolVersion,
    [metaKeys.clientInfo]: settings.info ?? defaultClientInfo,
    [metaKeys.clientCapabilities]: capabilitiesOf(settings),
  };
}

function describeServer(client: Client): ServerDescription {
  const version = client.getServerVersion();
  return {
    name: version?.name,
    version: version?.version,
    protocolVersion: client.getNegotiatedProtocolVersion() ?? "",
    era: client.getProtocolEra() ?? "legacy",
    capabilities: client.getServerCapabilities() ?? {},
    instructions: client.getInstructions(),
  };
}
