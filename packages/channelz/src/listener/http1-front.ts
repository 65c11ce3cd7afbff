import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type Connection, type Counters, countMalformed } from "./connections.js";
import type { LazyServices } from "./lazy-services.js";
import type { ListenLimits } from "./limits.js";
import type { Received, Reception } from "./reception.js";

export interface Http1FrontOptions {
  readonly reception: Reception;
  readonly services: LazyServices;
  readonly limits: ListenLimits;
  readonly counters: Counters;
}

/** HTTP/1.1 on sockets that are handed over. */
export interface Http1Front {
  /** The server that connections are handed to. It never listens itself. */
  readonly server: HttpServer;
  serve(connection: Connection): void;
  /** Refuses what was sent of a request on a connection that was not handed over, and has ended. */
  cutOff(connection: Connection): void;
  /** Stops its clock; the connections themselves are drained elsewhere. */
  close(): void;
}

const statusLines: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

export function createHttp1Front({ reception, services, limits, counters }: Http1FrontOptions): Http1Front {
  const connections = new WeakMap<Duplex, Connection>();
  const server = createServer(
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
  server.on("clientError", onClientError);
  // A server that never listens starts its clock for slow headers only when it is told that it does.
  server.emit("listening");

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(request.socket);
    if (connection === undefined) {
      request.socket.destroy();
      return;
    }
    const { method = "", headers, url = "" } = request;
    const received = reception.receive(connection, undefined, { method, headers, url });
    // A caller that goes away is no error of ours: from Node 24 on, one that nobody hears would end the process.
    request.on("error", ignore);
    response.on("error", ignore);
    response.on("close", () => reception.finish(received));
    if (received.verdict.outcome !== "pass" || !services.isAwaited(received.path)) {
      answer(received, request, response);
    } else {
      void services.load().then(() => {
        if (!response.destroyed) answer(received, request, response);
      });
    }
  }

  function answer(received: Received, request: IncomingMessage, response: ServerResponse): void {
    const atOnce = reception.answerAtOnce(received);
    if (atOnce === undefined) {
      reception.handOver(received, request, response);
    } else {
      response.writeHead(atOnce.statusCode, { ...atOnce.headers, connection: "close" });
      response.end(atOnce.body);
    }
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
    server,
    serve(connection) {
      connection.awaiting = "request";
      connections.set(connection.socket, connection);
      server.emit("connection", connection.socket);
      // The parser reads the handle from here on, but what was put back waits in the socket.
      connection.socket.resume();
    },
    cutOff({ socket }) {
      onClientError(Object.assign(new Error("Cut off"), { code: "HPE_INVALID_EOF_STATE" }), socket);
    },
    close() {
      server.close();
    },
  };
}

function ignore(): void {}
