import { constants, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { isReceived } from "../service/request-body.js";
import type { Awaiting, Connection, ServedRequest } from "./connection.js";
import { IdleList } from "./idle-list.js";
import type { ListenLimits } from "./limits.js";
import { createUnreadBytes } from "./unread-bytes.js";

/** The counters of a listener since it started; a snapshot. */
export interface ListenerStats {
  readonly connectionsOpen: number;
  readonly connectionsAccepted: number;
  /** Refused because every connection at the limit had an open request, or because the listener was closing. */
  readonly connectionsRefused: number;
  /** Closed while idle to make room for a new connection. */
  readonly connectionsDisplaced: number;
  /** Closed because a preface, a handshake, headers or the next request did not arrive in time. */
  readonly connectionsTimedOut: number;
  /** Closed because of invalid HTTP or too many pipelined requests. */
  readonly connectionsMalformed: number;
  /** Closed because too many bytes were unread, and this client was the slowest. */
  readonly connectionsUnread: number;
  readonly requestsOpen: number;
  readonly requestsStarted: number;
  /** Rejected by the access guard. */
  readonly requestsRefused: number;
  /** Ended because the body did not arrive, or the response was not read, in time. */
  readonly requestsTimedOut: number;
  /** Rejected because the message was too large. */
  readonly requestsTooLarge: number;
}

/** The counters that cannot be computed from the connections. */
export type Counters = { -readonly [K in Exclude<keyof ListenerStats, "connectionsOpen" | "requestsOpen">]: number };

/** The connections of a listener, with their limits and timeouts. */
export interface Connections {
  readonly counters: Counters;
  /** Adds a socket; destroys it and returns undefined if the limit is reached. */
  admit(socket: Socket): Connection | undefined;
  begin(servedRequest: ServedRequest): void;
  /** Ends a request: its response was sent, or never will be. */
  finish(servedRequest: ServedRequest): void;
  /** Bytes were written to a connection: measures how many its client has not read. */
  written(connection: Connection): void;
  /** Closes a connection at once, even with open requests. */
  destroy(connection: Connection): void;
  /** The open HTTP/2 sessions. */
  sessions(): Iterable<ServerHttp2Session>;
  stats(): ListenerStats;
  /** Accepts no more connections, closes idle ones, and resolves when all are closed, at the latest at the deadline. */
  drain(deadlineMs: number): Promise<void>;
}

/** `onFull` is called for each connection that is refused or displaced because the limit is reached. */
export function createConnections(limits: ListenLimits, onFull?: () => void): Connections {
  const counters: Counters = {
    connectionsAccepted: 0,
    connectionsRefused: 0,
    connectionsDisplaced: 0,
    connectionsTimedOut: 0,
    connectionsMalformed: 0,
    connectionsUnread: 0,
    requestsStarted: 0,
    requestsRefused: 0,
    requestsTimedOut: 0,
    requestsTooLarge: 0,
  };
  const connections = new Set<Connection>();
  const newConnections = new IdleList<Connection>();
  const idle = new IdleList<Connection>();
  let requestsOpen = 0;
  let onDrained: (() => void) | undefined;

  const unread = createUnreadBytes({
    maxBytes: limits.maxUnreadBytes,
    connections,
    close(connection) {
      counters.connectionsUnread++;
      destroy(connection);
    },
  });

  const timeouts = [
    limits.prefaceTimeoutMs,
    limits.headersTimeoutMs,
    limits.requestTimeoutMs,
    limits.stallTimeoutMs,
    limits.idleTimeoutMs,
  ];
  const sweepEveryMs = Math.min(1000, Math.max(10, Math.min(...timeouts) / 4));
  // After the poll phase: a timer runs before it, and after a long turn would time out a peer whose bytes have arrived but were not read yet.
  const sweeper = setInterval(() => setImmediate(sweep, performance.now()), sweepEveryMs).unref();

  function admit(socket: Socket): Connection | undefined {
    if (onDrained !== undefined || (connections.size >= limits.maxConnections && !displace())) {
      counters.connectionsRefused++;
      socket.on("error", ignore);
      socket.destroy();
      return undefined;
    }
    counters.connectionsAccepted++;
    const connection: Connection = {
      socket,
      wire: socket,
      session: undefined,
      awaiting: "preface",
      requests: [],
      hasRequested: false,
      unreadBytes: 0,
      unreadSince: 0,
      lastStreamId: 0,
      pingedAt: undefined,
      refuseLateBody: undefined,
      idleSince: performance.now(),
      list: undefined,
      before: undefined,
      after: undefined,
    };
    connections.add(connection);
    newConnections.add(connection);
    socket.on("error", ignore);
    socket.on("close", () => forget(connection));
    return connection;
  }

  /** New connections may use half of the limit; above that, they displace each other instead of connections that have been served. */
  function displace(): boolean {
    onFull?.();
    const isFlooded = newConnections.size > limits.maxConnections / 2;
    const victim = isFlooded ? newConnections.first : (idle.first ?? newConnections.first);
    if (victim === undefined) return false;
    counters.connectionsDisplaced++;
    destroy(victim);
    return true;
  }

  function begin(servedRequest: ServedRequest): void {
    const { connection } = servedRequest;
    counters.requestsStarted++;
    requestsOpen++;
    if (connection.requests.push(servedRequest) === 1) {
      connection.list?.delete(connection);
      connection.hasRequested = true;
    }
  }

  function finish(servedRequest: ServedRequest): void {
    const { connection } = servedRequest;
    const { requests } = connection;
    const index = requests.indexOf(servedRequest);
    if (index === -1) return;
    requests.splice(index, 1);
    requestsOpen--;
    if (requests.length === 0 && connections.has(connection)) becomeIdle(connection);
  }

  function becomeIdle(connection: Connection): void {
    connection.idleSince = performance.now();
    idle.add(connection);
    if (onDrained !== undefined) retire(connection);
  }

  function forget(connection: Connection): void {
    connection.list?.delete(connection);
    // Node does not report the end of pipelined responses that are not sent yet.
    requestsOpen -= connection.requests.length;
    connection.requests.length = 0;
    if (connections.delete(connection) && connections.size === 0) onDrained?.();
  }

  function destroy(connection: Connection): void {
    forget(connection);
    connection.session?.destroy();
    connection.socket.destroy();
  }

  /** Closes an idle connection properly: written data is still sent, and HTTP/2 sends GOAWAY. */
  function retire(connection: Connection): void {
    if (connection.session !== undefined) connection.session.close();
    else if (connection.hasRequested) connection.socket.destroySoon();
    else connection.socket.destroy();
  }

  /** Times out connections and requests. `now` is a time before the last poll phase. */
  function sweep(now: number): void {
    unread.measure();
    for (const connection of newConnections) {
      if (now - connection.idleSince > timeoutMsFor(connection.awaiting)) timeOut(connection);
    }
    for (const connection of idle) {
      if (now - connection.idleSince <= limits.idleTimeoutMs) break;
      timeOut(connection);
    }
    for (const connection of connections) {
      for (const servedRequest of [...connection.requests]) {
        if (isLate(servedRequest, now)) giveUp(servedRequest, connection.refuseLateBody);
        else if (isStalled(servedRequest, now)) giveUp(servedRequest);
      }
      checkHeaders(connection, now);
    }
  }

  /**
   * Detects incomplete HTTP/2 headers, which Node does not report. A stream that nghttp2 knows but Node did not report either has
   * incomplete headers or was refused. A PING decides: until the headers are complete no other frame may be sent (RFC 9113, section 6.2).
   */
  function checkHeaders(connection: Connection, now: number): void {
    const { session, pingedAt } = connection;
    if (session === undefined || session.destroyed || connection.awaiting !== "request") return;
    if (pingedAt !== undefined) {
      if (now - pingedAt > limits.headersTimeoutMs) timeOut(connection);
      return;
    }
    const { lastProcStreamID: lastId = 0 } = session.state;
    if (lastId <= connection.lastStreamId) return;
    connection.pingedAt = now;
    session.ping((error) => {
      if (error !== null) return;
      connection.pingedAt = undefined;
      connection.lastStreamId = Math.max(connection.lastStreamId, lastId);
    });
  }

  /** Resets the stream, or rejects the request; closes the connection if neither is possible or has worked. */
  function giveUp(servedRequest: ServedRequest, refuse?: () => void): void {
    const { stream, isGivenUp, connection } = servedRequest;
    if (!isGivenUp) counters.requestsTimedOut++;
    servedRequest.isGivenUp = true;
    if (isGivenUp) timeOut(connection);
    else if (stream !== undefined) stream.close(constants.NGHTTP2_CANCEL);
    else if (refuse !== undefined) refuse();
    else timeOut(connection);
  }

  function timeoutMsFor(awaiting: Awaiting): number {
    if (awaiting === "services") return Number.POSITIVE_INFINITY;
    if (awaiting === "preface") return limits.prefaceTimeoutMs;
    return awaiting === "settings" ? limits.headersTimeoutMs : limits.idleTimeoutMs;
  }

  function isLate({ startedAt, receiveTimeoutMs, stream, http1 }: ServedRequest, now: number): boolean {
    if (now - startedAt <= receiveTimeoutMs) return false;
    return stream === undefined ? http1?.request.complete === false : !isReceived(stream);
  }

  function isStalled(servedRequest: ServedRequest, now: number): boolean {
    if (servedRequest.isGivenUp) return true;
    const backlog = backlogOf(servedRequest);
    // Not the backlog itself, which also grows if the client reads more slowly than we write.
    const bytesRead = bytesWrittenTo(servedRequest) - backlog;
    const hasRead = bytesRead > servedRequest.bytesRead;
    servedRequest.bytesRead = bytesRead;
    if (backlog === 0) {
      servedRequest.stalledSince = undefined;
      return false;
    }
    if (hasRead) servedRequest.stalledSince = now;
    else servedRequest.stalledSince ??= now;
    return now - servedRequest.stalledSince > limits.stallTimeoutMs;
  }

  function timeOut(connection: Connection): void {
    if (connections.has(connection)) counters.connectionsTimedOut++;
    destroy(connection);
  }

  async function drain(deadlineMs: number): Promise<void> {
    const drained = new Promise<void>((resolve) => {
      onDrained = resolve;
    });
    if (connections.size === 0) onDrained?.();
    for (const connection of [...connections]) {
      if (connection.requests.length === 0) retire(connection);
      else connection.session?.close();
    }
    const timer = setTimeout(() => {
      for (const connection of [...connections]) destroy(connection);
    }, deadlineMs);
    await drained;
    clearTimeout(timer);
    clearInterval(sweeper);
  }

  return {
    counters,
    admit,
    begin,
    finish,
    written: unread.written,
    destroy,
    *sessions() {
      for (const { session } of connections) if (session?.destroyed === false) yield session;
    },
    stats: () => ({ connectionsOpen: connections.size, requestsOpen, ...counters }),
    drain,
  };
}

/**
 * Bytes that are ready for a client. A socket counts a write as pending until its last byte is sent, so the bytes that the kernel
 * has not accepted are added: then the backlog of a large response that is read slowly shrinks. The kernel does not know streams,
 * so these are written to in pieces.
 */
function backlogOf({ stream, connection: { socket, wire } }: ServedRequest): number {
  const { writableLength } = stream ?? socket;
  if (stream !== undefined || writableLength === 0) return writableLength;
  const handle = "_handle" in wire ? (wire._handle as { readonly writeQueueSize?: number } | null) : undefined;
  return writableLength + (handle?.writeQueueSize ?? 0);
}

function bytesWrittenTo({ stream, bytesWritten, connection: { socket } }: ServedRequest): number {
  return stream === undefined ? socket.bytesWritten : bytesWritten;
}

/** Counts a connection error as malformed if the peer sent invalid data; network errors do not count. */
export function countMalformed(counters: Counters, error: Error & { readonly code?: string }): void {
  if (error.code?.startsWith("ERR_HTTP2") || error.code?.startsWith("HPE_")) counters.connectionsMalformed++;
}

function ignore(): void {}
