import type { Socket } from "node:net";
import type { Client } from "undici";
import type { TransportInfo } from "../connection-info.js";
import { type TrackedSocket, trackSocket } from "./tracked-socket.js";

/** The maximum size of response headers, and of trailers, in bytes. */
const maxHeaderSize = 16 * 1024;
/** The maximum idle time, in milliseconds: middleboxes may silently drop idle connections. */
const maxIdleMs = 600_000;
/** How much earlier than the server we close an idle connection, in milliseconds: a request written at the same moment is lost. */
const closesEarlierMs = 500;
/** How often bytes may arrive that are neither headers nor body, such as endless chunk extensions. */
const maxUnproductiveReads = 256;

/** A connection on which undici sends one HTTP/1.1 request at a time. */
export interface HttpConnection {
  readonly trackedSocket: TrackedSocket;
  readonly origin: string;
  readonly client: Client;
  /** Whether a complete response was received on it. */
  wasUsed: boolean;
  /** The exchange in progress. */
  exchange: ExchangeInProgress | undefined;
}

interface ExchangeInProgress {
  /** Whether the request was written, so that it may have arrived. */
  readonly wasWritten: boolean;
  /** How often bytes arrived since the last progress of the response. */
  unproductiveReads: number;
  /** Cancels it: the caller is rejected with `reason`. */
  cancel(reason: unknown): void;
}

interface HttpConnectionOptions {
  readonly origin: string;
  readonly remoteName: string;
  readonly transport: TransportInfo;
  readonly redact: (text: string) => string;
  /** The maximum idle time if the server does not say, in milliseconds. */
  readonly idleMs: number;
}

/** A request whose connection closed before it was written. */
class ConnectionGone extends Error {
  override readonly name = "ConnectionGone";
}

/** Publishes a connected socket, and lets undici use it. */
export function createHttpConnection(
  ClientClass: typeof Client,
  socket: Socket,
  { origin, remoteName, transport, redact, idleMs }: HttpConnectionOptions,
): HttpConnection {
  const trackedSocket = trackSocket(socket, transport, remoteName, redact);
  // One client per socket instead of a Pool: a request has to know its socket, which belongs to one transport and has an address.
  const client = new ClientClass(origin, {
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: maxIdleMs,
    keepAliveTimeoutThreshold: closesEarlierMs,
    maxHeaderSize,
    // Callers limit the time themselves: a call may take as long as it makes progress.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Not synchronously: undici looks for work only after this has returned.
    connect: (_, callback) =>
      queueMicrotask(() => {
        if (socket.destroyed) return callback(gone(), null);
        callback(null, socket);
        // undici limits headers and trailers, but not chunk extensions. Prepended, because undici's own read resets the counter.
        socket.prependListener("readable", () => {
          const { exchange } = connection;
          if (exchange === undefined) return;
          exchange.unproductiveReads += 1;
          if (exchange.unproductiveReads > maxUnproductiveReads)
            connection.trackedSocket.end("The server violates HTTP.");
        });
      }),
  });
  // Before undici notices, which would connect again for a waiting request.
  socket.once("close", () => void client.destroy(gone()));
  const connection: HttpConnection = { trackedSocket, origin, client, wasUsed: false, exchange: undefined };
  return connection;
}

function gone(): ConnectionGone {
  return new ConnectionGone("The connection is closed.");
}

let loading: Promise<typeof Client> | undefined;

/** Loads undici with the first connection, so that it costs no start-up time and nothing in a process without HTTP servers. */
export function loadClient(): Promise<typeof Client> {
  loading ??= import("undici").then((undici) => undici.Client);
  return loading;
}
