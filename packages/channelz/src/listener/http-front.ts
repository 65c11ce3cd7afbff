import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Duplex } from "node:stream";
import { grpcCode } from "../service/grpc-code.js";
import { drain, stopReceiving } from "../service/request-body.js";
import type { RpcStatus } from "../service/rpc-status.js";
import type { NodeRequest, NodeResponse } from "./connect-handler.js";
import { type Connection, type Connections, countMalformed, type Exchange } from "./connections.js";
import { type CorsAdditions, corsHeaders, preflightHeaders } from "./cors.js";
import type { Guard, GuardedRequest, Verdict } from "./guard.js";
import type { LazyServices } from "./lazy-services.js";
import type { ListenLimits } from "./limits.js";
import { sniffPreface } from "./preface.js";
import { type StatusResponse, statusResponse } from "./status-response.js";

/** Answers a request that is neither Channelz nor one of the other routes. */
export type Fallback = (request: NodeRequest, response: NodeResponse) => void;

/** Is shown what HTTP is spoken with, before the first request of it: to observe it. */
export interface HttpObserver {
  /** The server that connections of HTTP/1.1 are handed to. It never listens itself. */
  readonly onHttp1Server?: (server: HttpServer) => void;
  readonly onHttp2Session?: (session: ServerHttp2Session) => void;
}

/** What stands behind the front. */
export interface HttpFrontOptions {
  readonly connections: Connections;
  readonly limits: ListenLimits;
  readonly guard: Guard;
  readonly services: LazyServices;
  readonly fallback: Fallback | undefined;
  readonly publicPaths: ReadonlySet<string>;
  readonly cors: CorsAdditions | undefined;
  readonly observer: HttpObserver | undefined;
  readonly isEncrypted: boolean;
}

/** HTTP/1.1 and HTTP/2 on one socket. */
export interface HttpFront {
  /** Serves a connection that is ready for HTTP. */
  serve(connection: Connection): void;
  /** Stops the clock of HTTP/1.1; the connections themselves are drained elsewhere. */
  close(): void;
}

/** Creates what tells the two versions apart, asks the guard, and hands each request to whom it is for. */
export function createHttpFront(options: HttpFrontOptions): HttpFront {
  const { connections, limits, guard, services, fallback, isEncrypted, publicPaths, cors, observer } = options;
  const { counters } = connections;
  const http1Connections = new WeakMap<Duplex, Connection>();

  const http1 = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.headersTimeoutMs + limits.requestTimeoutMs,
      connectionsCheckingInterval: Math.ceil(Math.min(1000, Math.max(10, limits.headersTimeoutMs / 4))),
      // An idle connection is swept with those of HTTP/2.
      keepAliveTimeout: 0,
    },
    onRequest,
  );
  http1.on("clientError", onClientError);
  // A server that never listens starts its clock for slow headers only when it is told that it does.
  http1.emit("listening");
  observer?.onHttp1Server?.(http1);

  function serve(connection: Connection): void {
    sniffPreface(connection.socket, (isHttp2) => {
      if (isHttp2) {
        void serveHttp2(connection);
      } else {
        connection.awaiting = "request";
        http1Connections.set(connection.socket, connection);
        http1.emit("connection", connection.socket);
        // The parser reads the handle from here on, but what was put back waits in the socket.
        connection.socket.resume();
      }
    });
  }

  async function serveHttp2(connection: Connection): Promise<void> {
    // Who speaks HTTP/2 calls services. A stream cannot be kept waiting: one without a body would end before anybody listens.
    if (services.current === undefined) {
      connection.awaiting = "us";
      await services.load();
      if (connection.socket.destroyed) return;
      connection.idleSince = performance.now();
    }
    connection.awaiting = "settings";
    const session = performServerHandshake(connection.socket, {
      settings: { maxConcurrentStreams: limits.maxConcurrentStreams, maxHeaderListSize: limits.maxHeaderBytes },
    });
    connection.session = session;
    observer?.onHttp2Session?.(session);
    session.on("error", (error) => countMalformed(counters, error));
    session.once("remoteSettings", () => {
      connection.awaiting = "request";
    });
    // The types do not know of the fourth argument.
    session.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...[, rawHeaders]: unknown[]) =>
      onStream(connection, stream, headers, rawHeaders as string[]),
    );
  }

  function onStream(
    connection: Connection,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
  ): void {
    stream.on("error", ignore);
    // A caller may have reset the stream before we hear of it, and then nobody will hear of its end.
    if (stream.destroyed || stream.closed) return;
    const path = pathOf(headers[":path"]);
    const exchange = begin(connection, stream);
    stream.on("close", () => connections.finish(exchange));
    const isPublic = publicPaths.has(path);
    const asked = { httpVersion: 2, method: headers[":method"] ?? "", headers, isEncrypted, isPublic } as const;
    const verdict = guard(asked);
    exchange.receiveTimeoutMs = receiveTimeoutMs(path);
    if (
      verdict.outcome === "pass" &&
      verdict.origin === undefined &&
      services.current?.grpcUnary(stream, headers) === true
    ) {
      return;
    }
    const answer = answerAtOnce(asked, headers[":path"] ?? "", path, verdict);
    if (answer !== undefined) {
      // Not through a response of Node's: that one waits for trailers, and a stream that is closed before they are asked
      // for ends the process with a failed assertion (Node 20).
      drain(stream);
      stream.once("finish", () => stopReceiving(stream));
      stream.respond({ ":status": answer.statusCode, ...answer.headers }, { endStream: answer.body.length === 0 });
      if (answer.body.length > 0) stream.end(answer.body);
      return;
    }
    const request = new Http2ServerRequest(stream, headers, {}, rawHeaders);
    const response = new Http2ServerResponse(stream);
    // A caller that goes on sending after its answer would keep the stream, and with it a shutdown, waiting. The response
    // sends its trailers on this very event, and the reset must not overtake them.
    stream.on("wantTrailers", () => stopReceiving(stream));
    handle(request, response, path, verdict);
  }

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const connection = http1Connections.get(request.socket);
    if (connection === undefined) {
      request.socket.destroy();
      return;
    }
    const { method = "", headers, url = "" } = request;
    const path = pathOf(url);
    const exchange = begin(connection, undefined);
    response.on("error", ignore);
    response.on("close", () => connections.finish(exchange));
    const asked = { httpVersion: 1, method, headers, isEncrypted, isPublic: publicPaths.has(path) } as const;
    const verdict = guard(asked);
    if (verdict.outcome !== "pass" || !services.isAwaited(path)) {
      answerRequest(exchange, request, response, asked, path, verdict);
    } else {
      void services.load().then(() => {
        if (!response.destroyed) answerRequest(exchange, request, response, asked, path, verdict);
      });
    }
  }

  function answerRequest(
    exchange: Exchange,
    request: IncomingMessage,
    response: ServerResponse,
    asked: GuardedRequest,
    path: string,
    verdict: Verdict,
  ): void {
    exchange.receiveTimeoutMs = receiveTimeoutMs(path);
    const answer = answerAtOnce(asked, request.url ?? "", path, verdict);
    if (answer === undefined) {
      handle(request, response, path, verdict);
    } else {
      response.writeHead(answer.statusCode, { ...answer.headers, connection: "close" });
      response.end(answer.body);
    }
  }

  function begin(connection: Connection, stream: ServerHttp2Stream | undefined): Exchange {
    const exchange: Exchange = {
      connection,
      stream,
      startedAt: performance.now(),
      receiveTimeoutMs: limits.requestTimeoutMs,
      stalledSince: undefined,
      isGivenUp: false,
    };
    connections.begin(exchange);
    return exchange;
  }

  function receiveTimeoutMs(path: string): number {
    const kind = services.current?.connect.kindOf(path);
    const mayStayOpen = kind === "client_streaming" || kind === "bidi_streaming";
    return mayStayOpen ? limits.idleTimeoutMs : limits.requestTimeoutMs;
  }

  /** The answer to a request that nobody needs to see: one that is refused, too large, a preflight, or for nothing here. */
  function answerAtOnce(
    asked: GuardedRequest,
    url: string,
    path: string,
    verdict: Verdict,
  ): StatusResponse | undefined {
    if (verdict.outcome === "preflight") {
      return { statusCode: 204, headers: preflightHeaders(verdict.origin, cors), body: Buffer.alloc(0) };
    }
    const status = verdict.outcome === "refuse" ? verdict.status : statusAtOnce(asked, path);
    if (status === undefined) return undefined;
    if (verdict.outcome === "refuse") counters.requestsRefused++;
    const answer = statusResponse(status, asked.method, asked.headers, url);
    return { ...answer, headers: { ...answer.headers, ...(verdict.origin && corsHeaders(verdict.origin, cors)) } };
  }

  function statusAtOnce({ headers }: GuardedRequest, path: string): RpcStatus | undefined {
    if (services.isAwaited(path)) {
      return {
        code: grpcCode.unavailable,
        message: "The services cannot be loaded. The process that serves them knows why.",
      };
    }
    const kind = services.current?.connect.kindOf(path);
    if (kind === undefined && fallback === undefined) {
      return { code: grpcCode.unimplemented, message: "Nothing is served at this path." };
    }
    // Connect counts what it reads; a body that announces itself as too large need not be read.
    const takesOneMessage = kind === "unary" || kind === "server_streaming";
    const announcedBytes = Number(headers["content-length"] ?? 0);
    if (!takesOneMessage || announcedBytes <= limits.maxMessageBytes + frameHeaderBytes) return undefined;
    counters.requestsTooLarge++;
    const message = `The request is larger than ${limits.maxMessageBytes} bytes, the most that this listener takes.`;
    return { code: grpcCode.resourceExhausted, message };
  }

  function handle(request: NodeRequest, response: NodeResponse, path: string, verdict: Verdict): void {
    if (verdict.origin !== undefined) {
      for (const [name, value] of Object.entries(corsHeaders(verdict.origin, cors))) response.setHeader(name, value);
    }
    if (services.current?.connect.handle(request, response, path) !== true) fallback?.(request, response);
  }

  function onClientError(error: Error & { readonly code?: string }, socket: Duplex): void {
    const isLate = error.code === "ERR_HTTP_REQUEST_TIMEOUT";
    if (isLate) counters.connectionsTimedOut++;
    else countMalformed(counters, error);
    if (socket.writable)
      socket.write(`HTTP/1.1 ${statusLines[error.code ?? ""] ?? "400 Bad Request"}\r\nconnection: close\r\n\r\n`);
    socket.destroy();
  }

  return {
    serve,
    close() {
      http1.close();
    },
  };
}

const frameHeaderBytes = 5;

const statusLines: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

function pathOf(url: string | undefined): string {
  const query = url?.indexOf("?") ?? -1;
  return query < 0 ? (url ?? "") : (url ?? "").slice(0, query);
}

function ignore(): void {}
