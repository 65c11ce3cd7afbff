import { setMaxListeners } from "node:events";
import type { LookupFunction, Socket } from "node:net";
import type { Cancellation } from "../cancellation.js";
import { type Clock, systemClock } from "../clock.js";
import type { TransportInfo } from "../connection-info.js";
import { ToolServerError } from "../errors.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import { type AttemptHost, attemptRequest } from "./attempt-request.js";
import { type ConnectSettings, connectSocket, nameOf } from "./connect-socket.js";
import type { HttpAnswer, HttpClient, HttpRequest, SocketOptions } from "./http-client.js";
import { createHttpConnection, type HttpConnection } from "./http-connection.js";
import { hostOf, portOf } from "./loopback.js";
import { createPlaces } from "./prepared-request.js";
import { proxyFor } from "./proxy-settings.js";
import { createSocketPool } from "./socket-pool.js";
import { createTlsContexts, type TlsContexts, type TlsSettings } from "./tls-settings.js";
import { type TrackedSocket, trackSocket } from "./tracked-socket.js";
import { loadClient } from "./undici.js";

export interface HttpClientOptions {
  /** The name of the tool server, for messages. */
  readonly server: string;
  /** The transport that sockets belong to which are opened now. Those of an earlier one are not used again. */
  readonly transport: () => TransportInfo;
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
  /** The environment, for the proxy: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, in either case. Default: no proxy. */
  readonly variables?: Readonly<Record<string, string | undefined>> | undefined;
  /** Whether this machine is reached through the proxy as well. Default false. */
  readonly proxiesLoopback?: boolean | undefined;
  readonly tls?: TlsSettings | undefined;
  /** How long a connection may take, with proxy and TLS, in milliseconds. Default 10,000. */
  readonly connectMs?: number | undefined;
  /**
   * How long an idle socket is kept, in milliseconds, where the server does not say. Default 4,000: less than the 5 s after
   * which common servers close without a word, for what is written at that moment is lost.
   */
  readonly idleMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Looks names up. Default: as the system does. */
  readonly lookup?: LookupFunction | undefined;
}

/** A client of HTTP/1.1 for one tool server. Throws CREDENTIAL_UNUSABLE where the TLS settings cannot be used. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const {
    server,
    transport,
    secrets,
    variables = {},
    proxiesLoopback = false,
    connectMs = 10_000,
    idleMs = 4000,
  } = options;
  const { clock = systemClock, lookup } = options;
  const redact = (text: string): string => secrets.redact(text);
  const pool = createSocketPool();
  const opened = new Set<TrackedSocket>();
  const life = new AbortController();
  // Each connection that is being made listens to it.
  setMaxListeners(0, life.signal);
  let closed: ToolServerError | undefined;

  let contexts: TlsContexts | undefined;
  const tlsContexts = (): TlsContexts => {
    contexts ??= createTlsContexts(options.tls ?? {}, variables.NODE_EXTRA_CA_CERTS);
    return contexts;
  };
  // At once, so that a wrong file is heard of before anything is sent; else only when TLS is spoken, for it takes a while.
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
  const defaultLeg = `the server ${JSON.stringify(server)}`;

  const reach = async (url: URL, options: SocketOptions): Promise<Socket> => {
    const { leg = defaultLeg, signal, isAddressAllowed } = options;
    const socket = await connectSocket(url, { leg, signal, isAddressAllowed }, settings);
    if (closed === undefined) return socket;
    socket.destroy();
    throw closed;
  };

  const connect = async (
    request: HttpRequest,
    origin: string,
    signal: Cancellation | undefined,
    place: { release(): void },
  ): Promise<HttpConnection> => {
    const { url } = request;
    const owner = transport();
    try {
      // First: an error of a connected socket that nobody listens to ends the process.
      const client = await loadClient();
      const socket = await reach(url, { ...request, signal });
      const options = { origin, remoteName: remoteNameOf(url), transport: owner, redact, idleMs };
      const connection = createHttpConnection(client, socket, options);
      pool.add(connection);
      return connection;
    } catch (error) {
      place.release();
      throw error;
    }
  };

  const host: AttemptHost = {
    clock,
    redact,
    defaultLeg,
    placeOf: createPlaces(),
    async open(request, origin, signal) {
      // What signs in, or answers the server, must not wait for calls that wait for it.
      const usesReserve = request.usesReserve === true || request.leg !== undefined;
      for (;;) {
        const place = pool.claim(origin, usesReserve);
        if (place !== undefined) return connect(request, origin, signal, place);
        await pool.vacancy(origin, [signal, life.signal]);
        const idle = host.take(request, origin);
        if (idle !== undefined) return idle;
      }
    },
    giveBack: pool.giveBack,
    take({ url, isAddressAllowed }, origin) {
      const socket = pool.take(origin, transport());
      if (socket === undefined || isAddressAllowed === undefined || settings.proxyFor(url) !== undefined) return socket;
      // It may have been opened for a request that was allowed more.
      const { remoteAddress = "" } = socket.trackedSocket.info.socket;
      if (isAddressAllowed(remoteAddress, hostOf(url.hostname))) return socket;
      pool.giveBack(socket);
      return undefined;
    },
  };
  const attemptWithin = async (headTimeoutMs: number, request: HttpRequest): Promise<HttpAnswer> => {
    const { signal, leg = defaultLeg, url } = request;
    const limit = new AbortController();
    const callOff = clock.after(headTimeoutMs, () => limit.abort(tooSlow(leg, url, headTimeoutMs)));
    let joined = limit.signal;
    if (signal instanceof AbortSignal) joined = AbortSignal.any([signal, limit.signal]);
    // What is no AbortSignal is of this one request, and goes with it.
    else signal?.addEventListener("abort", () => limit.abort(signal.reason));
    try {
      return await attemptRequest(host, request, joined);
    } finally {
      callOff();
    }
  };

  return {
    send(request) {
      const { signal, headTimeoutMs } = request;
      if (closed !== undefined) return Promise.reject(closed);
      if (signal?.aborted) return Promise.reject(signal.reason);
      return headTimeoutMs === undefined
        ? attemptRequest(host, request, signal)
        : attemptWithin(headTimeoutMs, request);
    },
    async openSocket(url, socketOptions = {}) {
      if (closed !== undefined) throw closed;
      const owner = transport();
      const socket = await reach(url, socketOptions);
      const trackedSocket = trackSocket(socket, owner, remoteNameOf(url), redact);
      opened.add(trackedSocket);
      void trackedSocket.closed.then(() => opened.delete(trackedSocket));
      return socket;
    },
    async close() {
      closed ??= closedError(server, false);
      life.abort(closed);
      const sockets = [...opened];
      for (const { exchange, trackedSocket } of [...pool.all()]) {
        exchange?.callOff(closedError(server, exchange.wasWritten));
        sockets.push(trackedSocket);
      }
      for (const trackedSocket of sockets) trackedSocket.end("Closed on this side.");
      await Promise.all(sockets.map((trackedSocket) => trackedSocket.closed));
    },
  };
}

function remoteNameOf(url: URL): string {
  return nameOf(hostOf(url.hostname), portOf(url));
}

function tooSlow(leg: string, url: URL, timeoutMs: number): ToolServerError {
  const problem = `No answer came from ${leg} (${remoteNameOf(url)}) within ${timeoutMs / 1000} s.`;
  const advice = "Try again, or look into the server.";
  return new ToolServerError("CALL_TIMEOUT", { problem, advice }, { details: { wasSent: true } });
}

function closedError(server: string, wasSent: boolean): ToolServerError {
  const problem = `The connection to the server ${JSON.stringify(server)} was closed on this side.`;
  return new ToolServerError("CONNECTION_CLOSED", { problem, advice: "" }, { details: { wasSent } });
}
