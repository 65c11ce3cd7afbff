import type { Socket } from "node:net";
import type { Client } from "undici";
import type { NetworkSocketInfo, TransportInfo } from "../connection-info.js";
import { publish } from "../diagnostics.js";
import { isParserError, isUnsolicitedResponse } from "./http-failure.js";

/** The maximum size of response headers, and of trailers, in bytes. */
const maxHeaderSize = 16 * 1024;
/** The maximum idle time, in milliseconds: middleboxes may silently drop idle connections. */
const maxIdleMs = 600_000;
/** How much earlier than the server we close an idle connection, in milliseconds: a request written at the same moment is lost. */
const closesEarlierMs = 500;
/**
 * How many bytes may arrive without completing headers or adding to the body, such as chunk extensions. Far more than headers need, because
 * undici's limit does not count their separators.
 */
const maxUnproductiveBytes = 256 * 1024;

/** A connection on which undici sends one HTTP/1.1 request at a time. */
export interface HttpConnection {
  readonly trackedSocket: TrackedSocket;
  readonly origin: string;
  readonly client: Client;
  /** Whether a complete response was received on it. */
  wasUsed: boolean;
  exchange: ExchangeInProgress | undefined;
}

interface ExchangeInProgress {
  /** Whether the request was written, so that it may have arrived. */
  readonly wasWritten: boolean;
  /** How many bytes arrived since the last progress of the response. */
  unproductiveBytes: number;
  /** Whether bytes wait in the socket until the caller has read more. */
  readonly isPaused: boolean;
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
        // undici limits headers and trailers, but not a reason phrase, the lines before a response, or chunk extensions. Prepended,
        // because undici's own read resets the counter.
        socket.prependListener("readable", () => {
          const { exchange } = connection;
          if (exchange === undefined || exchange.isPaused) return;
          // The new bytes do not count yet: they may contain more of the body.
          if (exchange.unproductiveBytes > maxUnproductiveBytes)
            connection.trackedSocket.end("The server violates HTTP.");
          exchange.unproductiveBytes += socket.readableLength;
        });
      }),
  });
  // Before undici notices, which would connect again for a waiting request.
  socket.once("close", () => void client.destroy(gone()));
  const connection: HttpConnection = { trackedSocket, origin, client, wasUsed: false, exchange: undefined };
  return connection;
}

/** The error of a request whose connection closed before the request was written. */
function gone(): Error {
  return new Error("The connection is closed.");
}

/** An open socket that is published to observers. */
export interface TrackedSocket {
  readonly info: NetworkSocketInfo;
  /** Resolves once the socket is closed. */
  readonly closed: Promise<void>;
  error(): Error | undefined;
  /** Closes the socket; the reason is published. */
  end(reason: string): void;
}

/** Publishes a socket from now until it closes. `redact` redacts the reason. */
export function trackSocket(
  socket: Socket,
  transport: TransportInfo,
  remoteName: string,
  redact: (text: string) => string,
): TrackedSocket {
  const info: NetworkSocketInfo = { kind: "socket", transport, socket, remoteName };
  publish("socket:opened", info);
  let reason: string | undefined;
  let error: Error | undefined;
  socket.on("error", (raised) => {
    error ??= raised;
    reason ??= reasonOf(raised);
  });
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => {
      publish("socket:closed", { subject: info, reason: redact(reason ?? "The server closed it.") });
      resolve();
    });
  });
  return {
    info,
    closed,
    error: () => error,
    end(why) {
      reason ??= why;
      socket.destroy();
    },
  };
}

/** Messages with which undici, whose version is pinned, destroys a socket, and what they mean to people. */
const reasons: Readonly<Record<string, string>> = {
  aborted: "A request on it was cancelled.",
  // A server that keeps connections alive may also close one after a response.
  reset: "The last response ended the connection.",
  "socket idle timeout": "It was idle.",
  "other side closed": "The server closed it.",
  closed: "The server closed it.",
};

function reasonOf(error: Error): string {
  if (isParserError(error)) return "The server violates HTTP.";
  if (isUnsolicitedResponse(error)) return "The server sent an unsolicited response.";
  return reasons[error.message] ?? `It failed: ${error.message}`;
}
