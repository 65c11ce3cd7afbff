import { setMaxListeners } from "node:events";
import type { LookupFunction, Socket } from "node:net";
import type { CallPhases } from "../call-phases.js";
import { type Clock, systemClock } from "../clock.js";
import type { TransportInfo } from "../connection-info.js";
import { channels, publish } from "../diagnostics.js";
import { ToolServerError } from "../errors.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import { hostOf, portOf } from "../url.js";
import { type ConnectSettings, connectSocket, nameOf } from "./connect-socket.js";
import { Exchange, type ExchangeContext } from "./exchange.js";
import type { HttpClient, HttpRequest, HttpResponse, SocketOptions } from "./http-client.js";
import { createHttpConnection, type HttpConnection, type TrackedSocket, trackSocket } from "./http-connection.js";
import { createRequestPreparer } from "./prepare-request.js";
import { proxyFor } from "./proxy.js";
import { createSocketPool } from "./socket-pool.js";
import { createTlsContexts, type TlsContexts, type TlsSettings } from "./tls-settings.js";

export interface HttpClientOptions {
  /** The name of the tool server, for messages. */
  readonly server: string;
  /** The transport that owns the sockets opened from now on. Sockets of an earlier transport are not reused. */
  readonly transport: () => TransportInfo;
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
  /** The environment, for the proxy: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, in either case. Default: no proxy. */
  readonly variables?: Readonly<Record<string, string | undefined>> | undefined;
  /** Whether the proxy is also used for loopback hosts. Default false. */
  readonly proxiesLoopback?: boolean | undefined;
  readonly tls?: TlsSettings | undefined;
  /** The time limit for connecting, including proxy and TLS, in milliseconds. Default 10,000. */
  readonly connectMs?: number | undefined;
  /**
   * How long an idle socket is kept, in milliseconds, if the server does not say. Default 4,000: common servers close silently
   * after 5 s, and a request that is written at that moment is lost.
   */
  readonly idleMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Resolves host names. Default: the system resolver. */
  readonly lookup?: LookupFunction | undefined;
}

/** Creates an HTTP/1.1 client for one tool server. Throws CREDENTIAL_UNUSABLE if the TLS settings cannot be used. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { server, transport, secrets, variables = {}, proxiesLoopback = false, lookup } = options;
  const { connectMs = 10_000, idleMs = 4000, clock = systemClock } = options;
  const { redact } = secrets;
  const pool = createSocketPool();
  const opened = new Set<TrackedSocket>();
  const life = new AbortController();
  // Each pending connection adds a listener.
  setMaxListeners(0, life.signal);
  let closed: ToolServerError | undefined;

  let contexts: TlsContexts | undefined;
  const tlsContexts = (): TlsContexts => {
    contexts ??= createTlsContexts(options.tls ?? {}, variables.NODE_EXTRA_CA_CERTS);
    return contexts;
  };
  // At once, so that a wrong file is reported before anything is sent; otherwise only for TLS, because it takes a while.
  if (options.tls !== undefined) tlsContexts();
  const proxySettings = { variables, includesLoopback: proxiesLoopback, secrets };
  const settings: ConnectSettings = {
    proxyFor: (url) => proxyFor(url, proxySettings),
    tlsContexts,
    connectMs,
    clock,
    lookup,
    redact,
    closing: life.signal,
  };
  const defaultPeer = `the server ${JSON.stringify(server)}`;

  const reach = async (url: URL, options: SocketOptions): Promise<Socket> => {
    const { peer = defaultPeer, signal, isAddressAllowed, phases = publishPhases(transport()) } = options;
    const socket = await connectSocket(url, { peer, signal, isAddressAllowed, phases }, settings);
    if (closed === undefined) return socket;
    socket.destroy();
    throw closed;
  };

  /** Opens a connection in a slot of the pool. */
  const connect = async (request: HttpRequest, origin: string): Promise<HttpConnection> => {
    const { url } = request;
    const owner = transport();
    try {
      // With the first connection, so that a process without HTTP servers does not load it. Before the socket, whose unhandled error would
      // end the process.
      const { Client } = await import("undici");
      const socket = await reach(url, request);
      const options = { origin, remoteName: remoteNameOf(url), transport: owner, redact, idleMs };
      const connection = createHttpConnection(Client, socket, options);
      pool.add(connection);
      return connection;
    } catch (error) {
      pool.release(origin);
      throw error;
    }
  };

  /** Takes an idle connection that the request may use. */
  const takeIdle = (request: HttpRequest, origin: string): HttpConnection | undefined => {
    const { url, isAddressAllowed } = request;
    const idle = pool.take(origin, transport(), mayUseReserve(request));
    if (idle === undefined || isAddressAllowed === undefined || settings.proxyFor(url) !== undefined) return idle;
    // It may have been opened for a request with fewer restrictions.
    const { remoteAddress = "" } = idle.trackedSocket.info.socket;
    if (isAddressAllowed(remoteAddress, hostOf(url.hostname))) return idle;
    pool.giveBack(idle);
    return undefined;
  };

  /** Opens a new connection; at the limit, waits for one to become idle. */
  const open = async (request: HttpRequest, origin: string): Promise<HttpConnection> => {
    const usesReserve = mayUseReserve(request);
    for (;;) {
      if (pool.claim(origin, usesReserve)) return connect(request, origin);
      request.phases?.begin("queued");
      request.observer?.onQueued?.(true);
      try {
        await pool.waitForSlot(origin, usesReserve, [request.signal, life.signal]);
      } finally {
        request.observer?.onQueued?.(false);
      }
      request.phases?.end("queued");
      const idle = takeIdle(request, origin);
      if (idle !== undefined) return idle;
    }
  };

  const prepare = createRequestPreparer();
  const exchangeContext: ExchangeContext = { clock, pool, defaultPeer, redact };

  /**
   * Sends a request on an idle or a new connection, and once more on a new one if the first was dead and repeating is safe.
   * Resolves with the response when its headers are received.
   */
  const sendRequest = async (request: HttpRequest): Promise<HttpResponse> => {
    const { signal, phases, isSafe = false } = request;
    const target = prepare(request);
    let connection = takeIdle(request, target.origin);
    for (let isLast = false; ; isLast = true) {
      if (connection === undefined) {
        phases?.begin("connecting");
        connection = await open(request, target.origin);
        phases?.end("connecting", connection.trackedSocket.info);
      }
      if (signal?.aborted) {
        connection.trackedSocket.end("The request it was opened for was cancelled.");
        throw signal.reason;
      }
      const exchange = new Exchange(connection, request, target, exchangeContext);
      try {
        return await exchange.start();
      } catch (failure) {
        const isRepeatable = !exchange.wasWritten || isSafe;
        if (isLast || !isRepeatable || !ToolServerError.is(failure, "CONNECTION_LOST")) throw failure;
        // The reason of a cancellation may have the same code.
        signal?.throwIfAborted();
        phases?.retry(failure.message);
        connection = undefined;
      }
    }
  };

  const sendWithin = async (headersTimeoutMs: number, request: HttpRequest): Promise<HttpResponse> => {
    const { signal, peer = defaultPeer, url } = request;
    const limit = new AbortController();
    const stopTimer = clock.after(headersTimeoutMs, () => limit.abort(tooSlow(peer, url, headersTimeoutMs)));
    let joined = limit.signal;
    if (signal instanceof AbortSignal) joined = AbortSignal.any([signal, limit.signal]);
    // A signal of our own belongs to this request only, so its listener needs no removal.
    else signal?.addEventListener("abort", () => limit.abort(signal.reason));
    try {
      return await sendRequest({ ...request, signal: joined });
    } finally {
      stopTimer();
    }
  };

  return {
    send(request) {
      const { signal, headersTimeoutMs } = request;
      if (closed !== undefined) return Promise.reject(closed);
      if (signal?.aborted) return Promise.reject(signal.reason);
      return headersTimeoutMs === undefined ? sendRequest(request) : sendWithin(headersTimeoutMs, request);
    },
    async openSocket(url, socketOptions = {}) {
      if (closed !== undefined) throw closed;
      const owner = transport();
      const socket = await reach(url, socketOptions);
      const trackedSocket = trackSocket(socket, owner, remoteNameOf(url), redact);
      opened.add(trackedSocket);
      void trackedSocket.closed.then(() => opened.delete(trackedSocket));
      return trackedSocket.info;
    },
    async close() {
      closed ??= closedError(server, false);
      life.abort(closed);
      const sockets = [...opened];
      for (const { exchange, trackedSocket } of [...pool.all()]) {
        exchange?.cancel(closedError(server, exchange.wasWritten));
        sockets.push(trackedSocket);
      }
      for (const socket of sockets) socket.end("Closed on this side.");
      await Promise.all(sockets.map((socket) => socket.closed));
    },
  };
}

/** Sign-in requests and responses to the server must not wait for calls that depend on them. */
function mayUseReserve({ usesReserve, peer }: HttpRequest): boolean {
  return usesReserve === true || peer !== undefined;
}

function remoteNameOf(url: URL): string {
  return nameOf(hostOf(url.hostname), portOf(url));
}

function tooSlow(peer: string, url: URL, timeoutMs: number): ToolServerError {
  const problem = `No response from ${peer} (${remoteNameOf(url)}) within ${timeoutMs / 1000} s.`;
  const advice = "Try again, or check the server.";
  return new ToolServerError("CALL_TIMEOUT", { problem, advice }, { details: { wasSent: true } });
}

function closedError(server: string, wasSent: boolean): ToolServerError {
  const problem = `The connection to the server ${JSON.stringify(server)} was closed on this side.`;
  return new ToolServerError("CONNECTION_CLOSED", { problem, advice: "" }, { details: { wasSent } });
}

/**
 * Publishes the steps of a connection that belongs to no single call, such as that of a handshake, for which many calls may wait. Undefined
 * if nothing subscribes.
 */
function publishPhases(transport: TransportInfo): CallPhases | undefined {
  if (!channels["transport:connecting"].hasSubscribers) return undefined;
  return {
    begin: (phase) => publish("transport:connecting", { transport, phase, isOver: false }),
    end: (phase) => publish("transport:connecting", { transport, phase, isOver: true }),
    retry() {},
  };
}
