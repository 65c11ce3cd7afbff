import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { GuardedRequest, Verdict } from "./guard.js";
import type { Listed } from "./idle-list.js";

/** What a connection without an open request waits for; with `services`, for this process to load them. */
export type Awaiting = "preface" | "services" | "settings" | "request";

export interface Connection extends Listed<Connection> {
  /** The stream of unencrypted bytes: the TLS socket, if TLS is used. */
  socket: Socket;
  /** The accepted TCP or Unix socket. */
  readonly wire: Socket;
  session: ServerHttp2Session | undefined;
  awaiting: Awaiting;
  /** Requests whose response has not been read: over HTTP/1.1 at most one, unless the client pipelines. */
  readonly requests: ServedRequest[];
  hasRequested: boolean;
  /** The number of bytes that its client had not read when last measured. */
  unreadBytes: number;
  /** Since when there have been unread bytes, in the time of `performance.now()`. */
  unreadSince: number;
  /** HTTP/2 only: the last stream whose headers are known to be complete. */
  lastStreamId: number;
  /** HTTP/2 only: since when a PING that checks whether headers are complete has been pending. */
  pingedAt: number | undefined;
  /** HTTP/1.1 only: rejects the request whose body is late, after the responses that are due before it. */
  refuseLateBody: (() => void) | undefined;
  /** Since when it has waited: since it was accepted, TLS or the services were ready, or its last request ended. In the time of `performance.now()`. */
  idleSince: number;
}

/** What Node has for a request over HTTP/1.1. */
export interface Http1Pair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A request whose response has not been read completely. */
export interface ServedRequest {
  readonly connection: Connection;
  readonly stream: ServerHttp2Stream | undefined;
  readonly http1: Http1Pair | undefined;
  readonly guarded: GuardedRequest;
  /** As sent, including the query. */
  readonly url: string;
  readonly verdict: Verdict;
  readonly startedAt: number;
  /** The timeout for the request body. */
  readonly receiveTimeoutMs: number;
  /** Since when the client has read nothing, although bytes are ready. */
  stalledSince: number | undefined;
  /** Bytes written to the response, if they are counted: over HTTP/2, except for responses that are written at once. */
  bytesWritten: number;
  /** Bytes that the client had read at the last check; only differences are meaningful. */
  bytesRead: number;
  isGivenUp: boolean;
}
