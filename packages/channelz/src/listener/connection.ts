import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Listed } from "./idle-list.js";

/** What a connection without an open request waits for; `us` if the peer has done its part. */
export type Awaiting = "preface" | "us" | "settings" | "request";

/** One accepted connection, from the first byte to the last. */
export interface Connection extends Listed<Connection> {
  /** The stream that its bytes pass before encryption, if there is any. */
  socket: Socket;
  /** What was accepted. */
  readonly wire: Socket;
  session: ServerHttp2Session | undefined;
  awaiting: Awaiting;
  /** Requests whose response has not been read: over HTTP/1.1 at most one, except for callers that pipeline. */
  readonly exchanges: Exchange[];
  hasRequested: boolean;
  /** Bytes that waited for its client when they were last measured. */
  unreadBytes: number;
  /** Since when some have been waiting, in the time of `performance.now()`. */
  unreadSince: number;
  /** Over HTTP/2: the last stream whose headers are known to be complete. */
  lastStreamId: number;
  /** HTTP/2 only: since when a PING that checks whether headers are complete has been pending. */
  pingedAt: number | undefined;
  /** Over HTTP/1.1: refuses the request whose body is late, after the responses that are due before it. */
  refuseLateBody: (() => void) | undefined;
  /** Since when it waits: it was accepted, was made to wait for us, or its last request ended. In the time of `performance.now()`. */
  idleSince: number;
}

/** The request and the response of an exchange over HTTP/1.1. */
export interface Http1Pair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A request that has begun and whose response has not been read yet. */
export interface Exchange {
  readonly connection: Connection;
  readonly stream: ServerHttp2Stream | undefined;
  readonly http1: Http1Pair | undefined;
  readonly startedAt: number;
  /** How long the body may take. */
  readonly receiveTimeoutMs: number;
  /** Since when the caller has read nothing of what is ready. */
  stalledSince: number | undefined;
  /** Bytes written to the response, if they are counted: over HTTP/2, except for responses that are written at once. */
  given: number;
  /** What the caller had taken when that was last looked at, in bytes from any beginning. */
  taken: number;
  isGivenUp: boolean;
}
