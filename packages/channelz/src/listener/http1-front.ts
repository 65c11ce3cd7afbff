import { createServer, type Server as HttpServer, type IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Connection, ServedRequest } from "./connection.js";
import { countMalformed } from "./connections.js";
import type { PipelineOptions, RequestPipeline } from "./request-pipeline.js";

export interface Http1FrontOptions extends Pick<PipelineOptions, "connections" | "limits" | "services"> {
  readonly pipeline: RequestPipeline;
}

/** HTTP/1.1 on sockets that are handed over. */
export interface Http1Front {
  /** The server that connections are handed to. It never listens itself. */
  readonly server: HttpServer;
  serve(connection: Connection): void;
  /** Stops its timer; the connections themselves are drained elsewhere. */
  close(): void;
}

/** An HTTP/1.1 connection. */
interface Served {
  readonly connection: Connection;
  readonly onWritten: () => void;
  /** The status to end the connection with, after the responses that are due; no more requests are served. */
  refusal: string | undefined;
}

const statusLines: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

export function createHttp1Front({ pipeline, services, limits, connections }: Http1FrontOptions): Http1Front {
  const { counters } = connections;
  const bySocket = new WeakMap<Duplex, Served>();
  const server = createServer(
    {
      ServerResponse: MeasuredResponse,
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      // For requests that Node responds to itself. The timeouts of all other bodies are checked together with those of HTTP/2.
      requestTimeout: limits.headersTimeoutMs + Math.max(limits.requestTimeoutMs, limits.idleTimeoutMs),
      connectionsCheckingInterval: Math.ceil(Math.min(1000, Math.max(10, limits.headersTimeoutMs / 4))),
      // Idle connections are closed together with those of HTTP/2.
      keepAliveTimeout: 0,
    },
    onRequest,
  );
  // Without this listener, Node would send 100 Continue before the guard has checked the request.
  server.on("checkContinue", (request, response) => onRequest(request, response, true));
  server.on("clientError", onClientError);
  // A server that never listens starts its timer for slow headers only on this event.
  server.emit("listening");

  function onRequest(request: IncomingMessage, response: MeasuredResponse, expectsContinue = false): void {
    const served = bySocket.get(request.socket);
    if (served === undefined) {
      request.socket.destroy();
      return;
    }
    // A client that disconnects must not end the process, which an error without a listener does from Node 24 on.
    request.on("error", ignore);
    response.on("error", ignore);
    // More requests may have been read together with a rejected one.
    if (served.refusal !== undefined || request.socket.destroyed) return;
    if (served.connection.requests.length >= limits.maxConcurrentStreams) {
      // Node reads pipelined requests without a limit, and resumes a paused socket.
      counters.connectionsMalformed++;
      connections.destroy(served.connection);
      return;
    }
    const { method = "", headers, url = "", rawHeaders } = request;
    const requestInfo = { method, headers, url, hasSeveralHosts: hasSeveralHosts(rawHeaders) };
    const servedRequest = pipeline.receive(served.connection, { http1: { request, response } }, requestInfo);
    response.onWritten = served.onWritten;
    response.on("close", () => {
      connections.finish(servedRequest);
      endRefused(served);
    });
    if (servedRequest.verdict.outcome !== "pass" || !services.isAwaited(servedRequest.guarded.path)) {
      respond(servedRequest, request, response, expectsContinue);
      return;
    }
    void services.load().then(() => {
      if (!response.destroyed) respond(servedRequest, request, response, expectsContinue);
    });
  }

  function respond(
    servedRequest: ServedRequest,
    request: IncomingMessage,
    response: MeasuredResponse,
    expectsContinue: boolean,
  ): void {
    const early = pipeline.earlyResponse(servedRequest);
    if (early === undefined) {
      if (expectsContinue) response.writeContinue();
      pipeline.dispatch(servedRequest, request, response);
    } else {
      const length = early.body.length > 0 ? { "content-length": early.body.length } : {};
      response.writeHead(early.statusCode, { ...early.headers, ...length, connection: "close" });
      response.end(early.body);
    }
  }

  function onClientError(error: Error & { readonly code?: string }, socket: Duplex): void {
    const served = bySocket.get(socket);
    if (served?.refusal === undefined) {
      if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") counters.connectionsTimedOut++;
      else countMalformed(counters, error);
    }
    if (served === undefined || !socket.writable) socket.destroy();
    else refuse(served, statusLines[error.code ?? ""] ?? "400 Bad Request");
  }

  /** Ends a connection with a status, for a request that has no response object or an incomplete body. */
  function refuse(served: Served, statusLine: string): void {
    const { connection } = served;
    served.refusal ??= statusLine;
    const last = connection.requests.at(-1);
    // The status is the response to that request, unless it already has one.
    if (last?.http1?.request.complete === false && !last.http1.response.headersSent) connections.finish(last);
    // A client that has closed its side does not wait for responses.
    if (connection.requests.length > 0 && connection.socket.readableEnded) connection.socket.destroy();
    else endRefused(served);
  }

  function endRefused({ connection: { requests, socket }, refusal }: Served): void {
    if (refusal === undefined || requests.length > 0) return;
    if (socket.writable) socket.write(`HTTP/1.1 ${refusal}\r\nconnection: close\r\n\r\n`);
    socket.destroySoon();
  }

  return {
    server,
    serve(connection) {
      const onWritten = (): void => connections.written(connection);
      const served: Served = { connection, onWritten, refusal: undefined };
      connection.awaiting = "request";
      connection.refuseLateBody = () => {
        counters.connectionsTimedOut++;
        refuse(served, "408 Request Timeout");
      };
      bySocket.set(connection.socket, served);
      server.emit("connection", connection.socket);
      // From now on the parser reads from the handle, but the bytes that were put back are in the socket.
      connection.socket.resume();
    },
    close() {
      server.close();
    },
  };
}

function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
}

function ignore(): void {}

/** Strings longer than this are encoded before they are written. */
const largeLength = 16 * 1024;

/** An HTTP/1.1 response that reports writes, so that its unread bytes can be measured. */
class MeasuredResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  onWritten: (() => void) | undefined = undefined;

  override write(chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
    const canWriteMore = super.write(encoded(chunk, encoding), encoding as BufferEncoding, callback as () => void);
    this.onWritten?.();
    return canWriteMore;
  }

  override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    super.end(encoded(chunk, encoding), encoding as BufferEncoding, callback as () => void);
    this.onWritten?.();
    return this;
  }
}

/** Node keeps both a string that the kernel does not accept at once and a copy of it. Bytes are kept once, and counted correctly. */
function encoded(chunk: unknown, encoding: unknown): unknown {
  if (typeof chunk !== "string" || chunk.length <= largeLength) return chunk;
  return Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
}
