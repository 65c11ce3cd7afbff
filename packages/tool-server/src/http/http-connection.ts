import type { Socket } from "node:net";
import type { Client } from "undici";
import type { TransportInfo } from "../connection-info.js";
import { type TrackedSocket, trackSocket } from "./tracked-socket.js";

/** How large the headers of a response may be, in bytes, and its trailers. */
const maxHeaderSize = 16 * 1024;
/** How long an idle connection is kept at most, in milliseconds: what is in between may forget it without a word. */
const maxIdleMs = 600_000;
/** How much earlier than the server an idle connection is closed, in milliseconds: what is written when both do is lost. */
const closesEarlierMs = 500;
/** How often bytes may arrive that are neither headers nor body before the server counts as broken: endless extensions of a chunk. */
const maxFruitlessReads = 256;

/** A connection that undici speaks HTTP/1.1 over, one request at a time. */
export interface HttpConnection {
  readonly trackedSocket: TrackedSocket;
  readonly origin: string;
  readonly client: Client;
  /** Whether it has brought a whole response. */
  wasUsed: boolean;
  /** What is in progress on it. */
  exchange: ExchangeInProgress | undefined;
}

export interface ExchangeInProgress {
  /** Whether the request was written, so that it may have arrived. */
  readonly wasWritten: boolean;
  /** How many times bytes arrived since the last part of the response. */
  fruitlessReads: number;
  /** Ends it: its caller is rejected with `reason`. */
  callOff(reason: unknown): void;
}

export interface HttpConnectionOptions {
  readonly origin: string;
  readonly remoteName: string;
  readonly transport: TransportInfo;
  readonly redact: (text: string) => string;
  /** How long it may be idle if the server does not say, in milliseconds. */
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
  // One client for each socket, not a Pool: a request has to know its socket, which belongs to one transport and has an address.
  const client = new ClientClass(origin, {
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: maxIdleMs,
    keepAliveTimeoutThreshold: closesEarlierMs,
    maxHeaderSize,
    // Callers limit the time themselves: a call may take as long as there is progress.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Not at once: undici looks for work only after this has returned.
    connect: (_, callback) =>
      queueMicrotask(() => {
        if (socket.destroyed) return callback(gone(), null);
        callback(null, socket);
        // undici limits headers and trailers, but not what a server says about a chunk. Before undici reads, which resets it.
        socket.prependListener("readable", () => {
          const { exchange } = connection;
          if (exchange === undefined) return;
          exchange.fruitlessReads += 1;
          if (exchange.fruitlessReads > maxFruitlessReads)
            connection.trackedSocket.end("The server does not speak HTTP as it should.");
        });
      }),
  });
  // Before undici hears of it, which would connect again for a request that waits.
  socket.once("close", () => void client.destroy(gone()));
  const connection: HttpConnection = { trackedSocket, origin, client, wasUsed: false, exchange: undefined };
  return connection;
}

function gone(): ConnectionGone {
  return new ConnectionGone("The connection is closed.");
}
