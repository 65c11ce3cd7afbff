import type { Server as HttpServer } from "node:http";
import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Connection } from "./connection.js";
import { createHttp1Front } from "./http1-front.js";
import { createHttp2Front } from "./http2-front.js";
import { createRequestPipeline, type PipelineOptions } from "./request-pipeline.js";

export interface HttpFrontOptions extends PipelineOptions {
  /** Called with each HTTP/2 session before its first request. */
  readonly onSession: (session: ServerHttp2Session) => void;
}

/** HTTP/1.1 and HTTP/2 on one socket. */
export interface HttpFront {
  /** The server that HTTP/1.1 connections are handed to. It never listens itself. */
  readonly http1Server: HttpServer;
  /** Serves a connection that is ready for HTTP. */
  serve(connection: Connection): void;
  /** Stops the HTTP/1.1 timer; the connections themselves are drained elsewhere. */
  close(): void;
}

/** Creates a front that detects the HTTP version of each connection. */
export function createHttpFront(options: HttpFrontOptions): HttpFront {
  const { services, limits, connections, onSession } = options;
  const pipeline = createRequestPipeline(options);
  const http1 = createHttp1Front({ pipeline, services, limits, connections });
  const serveHttp2 = createHttp2Front({ pipeline, services, limits, connections, onSession });
  return {
    http1Server: http1.server,
    serve(connection) {
      sniffPreface(connection.socket, (isHttp2) => {
        if (isHttp2) void serveHttp2(connection);
        else http1.serve(connection);
      });
    },
    close: http1.close,
  };
}

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/**
 * Reads just enough of a connection to distinguish HTTP/2 from HTTP/1.1, puts the bytes back, and calls `decided` once. Does not
 * call it if the peer disconnects or sends nothing, so the caller must set a timeout.
 */
function sniffPreface(socket: Socket, decided: (isHttp2: boolean) => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const onData = (chunk: Buffer): void => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, preface.length);
    const isPrefix = seen.compare(preface, 0, length, 0, length) === 0;
    if (isPrefix && length < preface.length) return;
    socket.off("data", onData);
    socket.pause();
    socket.unshift(seen);
    decided(isPrefix);
  };
  socket.on("data", onData);
}
