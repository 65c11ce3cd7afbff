import type { ClientHttp2Stream, Http2Session, Http2Stream, IncomingHttpHeaders } from "node:http2";
import type { SocketHandle } from "@wirescope/channelz";
import { guardNode } from "../guard-listener.js";
import { trackStream } from "./patch-streams.js";
import type { StreamCounters, StreamTracker } from "./stream-tracker.js";

const sessionKey = Symbol("wirescope.session");

/** The counters and callbacks of a session. */
export interface SessionTracker extends StreamCounters {
  socket: SocketHandle | undefined;
  /** A client's streams from before the connection was established. */
  early: StreamTracker[];
  /** The counters for a stream with these request headers. Default: the tracker itself. */
  countersOf?: (headers: IncomingHttpHeaders) => StreamCounters;
  /** Called with the code when this end sends GOAWAY. */
  readonly onGoawaySent?: (code: number) => void;
  /** Called when the session is destroyed with an error, before any listener. */
  readonly onFailed?: (error: Error) => void;
}

interface SessionMethods {
  [sessionKey]?: SessionTracker;
  readonly destroyed: boolean;
  readonly socket: { readonly destroyed: boolean };
  ping(...args: unknown[]): boolean;
  goaway(...args: unknown[]): void;
  destroy(...args: unknown[]): void;
}

interface ClientMethods extends SessionMethods {
  request(headers?: IncomingHttpHeaders, options?: object): ClientHttp2Stream;
}

interface ServerMethods extends SessionMethods {
  emit(event: string | symbol, ...args: unknown[]): boolean;
}

const patched = new WeakSet<object>();

/** Counts the pings and streams of a session from now on. */
export function trackSession(session: Http2Session, tracker: SessionTracker): void {
  const own = Object.getPrototypeOf(session) as ClientMethods & ServerMethods;
  const base = Object.getPrototypeOf(own) as SessionMethods;
  if (!patched.has(base)) {
    patched.add(base);
    patchPing(base);
    patchGoaway(base);
  }
  if (!patched.has(own)) {
    patched.add(own);
    if (tracker.isClient) patchRequest(own);
    else patchEmit(own);
  }
  (session as unknown as SessionMethods)[sessionKey] = tracker;
}

/** Names the peer of a session. */
export function nameRemoteOf(session: Http2Session, name: string): void {
  (session as unknown as SessionMethods)[sessionKey]?.socket?.nameRemote(name);
}

/** Stops counting a session, except for its streams in progress. */
export function untrackSession(session: Http2Session): void {
  delete (session as unknown as SessionMethods)[sessionKey];
}

/** A client's connection is established: the waiting calls are its first streams. */
export function sessionConnected(tracker: SessionTracker, socket: SocketHandle): void {
  tracker.socket = socket;
  for (const stream of tracker.early) stream.connected(socket);
  tracker.early = [];
}

const observePing = guardNode((tracker: SessionTracker | undefined): void => tracker?.socket?.keepAliveSent());
const observeFailure = guardNode((tracker: SessionTracker | undefined, error: Error): void =>
  tracker?.onFailed?.(error),
);

function patchPing(prototype: SessionMethods): void {
  const { ping } = prototype;
  prototype.ping = function (...args) {
    const isSent = ping.apply(this, args);
    if (isSent) observePing(this[sessionKey]);
    return isSent;
  };
}

/** A session sends GOAWAY on request, when it is closed, and when it is destroyed with a code. */
function patchGoaway(prototype: SessionMethods): void {
  const { goaway, destroy } = prototype;
  prototype.goaway = function (...args) {
    goaway.apply(this, args);
    if (isConnected(this)) this[sessionKey]?.onGoawaySent?.(Number(args[0] ?? 0));
  };
  prototype.destroy = function (...args) {
    const [error, given] = args;
    // Node ignores the code if there is no error.
    const code = typeof error === "number" ? error : error !== undefined && given;
    if (code && !this.destroyed && isConnected(this)) this[sessionKey]?.onGoawaySent?.(Number(code));
    if (error instanceof Error && !this.destroyed) observeFailure(this[sessionKey], error);
    destroy.apply(this, args);
  };
}

/** Whether GOAWAY can be sent: Node also calls `goaway` when the connection is gone. */
function isConnected(session: SessionMethods): boolean {
  try {
    return !session.socket.destroyed;
  } catch {
    return false;
  }
}

function patchRequest(prototype: ClientMethods): void {
  const { request } = prototype;
  prototype.request = function (headers, options) {
    const stream = request.call(this, headers, options);
    const tracker = this[sessionKey];
    if (tracker !== undefined) {
      const followed = trackStream(stream, tracker, headers);
      if (tracker.socket === undefined && followed !== undefined) tracker.early.push(followed);
    }
    return stream;
  };
}

/** Patched instead of a "stream" listener, which would cost an array per stream. */
function patchEmit(prototype: ServerMethods): void {
  const { emit } = prototype;
  prototype.emit = function (event) {
    // biome-ignore lint/complexity/noArguments: passed on as they are, they cost no array an event
    const args = arguments;
    if (event === "stream") {
      const tracker = this[sessionKey];
      const headers = args[2] as IncomingHttpHeaders;
      if (tracker !== undefined) trackStream(args[1] as Http2Stream, tracker.countersOf?.(headers) ?? tracker, headers);
    }
    return emit.apply(this, args as unknown as [string]);
  };
}
