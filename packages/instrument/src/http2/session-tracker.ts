import type { ClientHttp2Stream, Http2Session, IncomingHttpHeaders } from "node:http2";
import type { SocketHandle } from "@wirescope/channelz";
import { trackStream } from "./patch-streams.js";
import type { StreamCounters, StreamTracker } from "./stream-tracker.js";

const sessionKey = Symbol("wirescope.session");

/** What is counted for a session, and where. */
export interface SessionTracker extends StreamCounters {
  socket: SocketHandle | undefined;
  /** The calls of a client that began before the connection was up. */
  early: StreamTracker[];
}

interface SessionMethods {
  [sessionKey]?: SessionTracker;
  ping(...args: unknown[]): boolean;
}

interface ClientMethods extends SessionMethods {
  request(headers?: IncomingHttpHeaders, options?: object): ClientHttp2Stream;
}

const patched = new WeakSet<object>();

/** Counts the pings of a session, and the streams that it opens, from now on. */
export function trackSession(session: Http2Session, tracker: SessionTracker): void {
  const own = Object.getPrototypeOf(session) as ClientMethods;
  patchPing(Object.getPrototypeOf(own) as SessionMethods);
  if (tracker.isClient) patchRequest(own);
  (session as unknown as SessionMethods)[sessionKey] = tracker;
}

/** Counts nothing of a session any more, but for the streams that are under way. */
export function untrackSession(session: Http2Session): void {
  delete (session as unknown as SessionMethods)[sessionKey];
}

/** A client's connection is up: the calls that waited for it are its first streams. */
export function sessionConnected(tracker: SessionTracker, socket: SocketHandle): void {
  tracker.socket = socket;
  for (const stream of tracker.early) stream.connected(socket);
  tracker.early = [];
}

function patchPing(prototype: SessionMethods): void {
  if (patched.has(prototype)) return;
  patched.add(prototype);
  const { ping } = prototype;
  prototype.ping = function (...args) {
    const isSent = ping.apply(this, args);
    if (isSent) this[sessionKey]?.socket?.keepAliveSent();
    return isSent;
  };
}

function patchRequest(prototype: ClientMethods): void {
  if (patched.has(prototype)) return;
  patched.add(prototype);
  const { request } = prototype;
  prototype.request = function (headers, options) {
    const stream = request.call(this, headers, options);
    const tracker = this[sessionKey];
    if (tracker !== undefined) {
      const followed = trackStream(stream, tracker, headers?.["content-type"]);
      if (tracker.socket === undefined && followed !== undefined) tracker.early.push(followed);
    }
    return stream;
  };
}
