import { channel } from "node:diagnostics_channel";
import type { Server as HttpServer } from "node:http";
import type { ServerHttp2Session } from "node:http2";
import { createServer, type Server } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { channelzPackages } from "../channelz-package.js";
import { ChannelzError } from "../errors.js";
import { createHealth, type Health } from "../service/health.js";
import type { Source } from "../source.js";
import { type BindAddress, bind, resolveBind, targetOf } from "./bind.js";
import type { Connection } from "./connection.js";
import { createConnections, type ListenerStats } from "./connections.js";
import type { CorsAdditions } from "./cors.js";
import type { MoreServices } from "./create-services.js";
import { type Admission, createGuard, type GuardedRequest } from "./guard.js";
import { createHttpFront } from "./http-front.js";
import { createLazyServices } from "./lazy-services.js";
import { type ConnectionShortage, completeLimits, connectionLimit, type ListenLimits } from "./limits.js";
import type { ListenTls } from "./listen-tls.js";
import type { Fallback } from "./request-pipeline.js";
import { createTlsFront } from "./tls-front.js";
import { createTokenCheck } from "./token.js";

/** The address of a listener, its access control, and what it serves in addition to Channelz. */
export interface ListenOptions {
  /**
   * The address or name to listen on. Default `127.0.0.1`. One that other machines can reach is refused (LISTEN_EXPOSED)
   * unless a token, a token file or mutual TLS authenticates callers.
   */
  readonly host?: string;
  /** The TCP port. Default 0: a free one, which is in `address`. */
  readonly port?: number;
  /**
   * A Unix socket instead of host and port. Its file has mode 0600 and is removed on close. A stale file is replaced; if another
   * process listens on it, that is an error. Not together with `tls`.
   */
  readonly path?: string;
  /** TLS; mutual if it has a `ca`. Default: none. */
  readonly tls?: ListenTls;
  /** The bearer token that every request must send. Default: none. */
  readonly token?: string;
  /** A file with the token, instead of `token`; a changed file is used within a second. */
  readonly tokenFile?: string;
  /**
   * Additional names to accept in the Host header of HTTP/1.1 and browser requests, without ports. `localhost`, loopback addresses
   * and the name in `host` are always accepted, and on a listener that is not local, every IP address. Default: none.
   */
  readonly allowedHosts?: readonly string[];
  /** Additional origins of pages that may call, like `https://tools.example`; the listener's own is always allowed. Default: none. */
  readonly allowedOrigins?: readonly string[];
  /** Limits for clients. */
  readonly limits?: Partial<ListenLimits>;
  /** Called for each connection that is refused or closed because the limit of connections is reached. */
  readonly onShortage?: (shortage: ConnectionShortage) => void;
  /** Additional services on the same port, behind the same guard. Called when the services are loaded. */
  readonly services?: () => MoreServices | Promise<MoreServices>;
  /** The application's health service; its `shutdown` is called on close. Default: the listener creates one. */
  readonly health?: Health;
  /**
   * Whether the listener keeps the process running. Default true; false for a job that should exit when its work is done.
   */
  readonly keepsProcessAlive?: boolean;
  /** Handles requests to other paths than services, behind the same guard. Default: 404, in the client's protocol. */
  readonly fallback?: Fallback;
  /** Paths that require no token; Host and Origin are still checked. Default: none. */
  readonly publicPaths?: readonly string[];
  /**
   * Decides about requests without a token, after Host and Origin were checked: for clients that authenticate in another way, such as
   * browsers. Not called for pages of `allowedOrigins`, nor if no token is configured. Default: the token is required.
   */
  readonly admit?: (request: Pick<GuardedRequest, "method" | "path" | "headers">) => Admission;
  /** Whether an address that other machines can reach is refused without TLS, even with a token. Default false. */
  readonly requiresTls?: boolean;
  /** Additional CORS settings for pages of allowed origins, such as the fallback needs. */
  readonly cors?: CorsAdditions;
  /** Observes the HTTP servers and sessions. */
  readonly observer?: ListenObserver;
}

/** Observes the servers and sessions of a listener. Called with each HTTP server and session before its first request. */
export interface ListenObserver {
  /** The server that HTTP/1.1 connections are handed to. It never listens itself. */
  readonly onHttp1Server?: (server: HttpServer) => void;
  readonly onHttp2Session?: (session: ServerHttp2Session) => void;
  /** Called with the listening server. */
  readonly onListening?: (server: Server) => void;
}

/**
 * An open listener, for instruments that show all servers of a process. It is published on `wirescope:channelz:opened`, and passed
 * to a function that is published on `wirescope:channelz:open`.
 */
export interface OpenListener {
  /** Calls the observer for the listener's servers, and for its current and future sessions. Returns an unsubscribe function. */
  readonly observe: (observer: ListenObserver) => () => void;
  /** Aborted when the listener begins to close. */
  readonly closed: AbortSignal;
}

const opened = channel("wirescope:channelz:opened");
const queries = channel("wirescope:channelz:open");

/** How a listener stops. */
export interface CloseOptions {
  /** Milliseconds for requests in progress to finish; then their connections are closed. Default 5000. */
  readonly deadlineMs?: number;
}

/** A running listener. */
export interface ChannelzListener extends AsyncDisposable {
  /** The target for clients: `host:port`, or `unix:/path`. */
  readonly address: string;
  /** The base URL, `http://host:port` or `https://host:port`; the address again for a Unix socket. */
  readonly url: string;
  /** The health service. */
  readonly health: Health;
  /** A snapshot of the counters. */
  stats(): ListenerStats;
  /** Stops accepting, reports NOT_SERVING, sends GOAWAY, lets open requests finish, and closes everything. May be called twice. */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Serves a source on its own port or Unix socket: gRPC, gRPC-Web and Connect, over HTTP/2 and HTTP/1.1, with reflection and
 * health. Rejects with LISTEN_EXPOSED, LISTEN_FAILED or TOKEN_UNUSABLE, and with a TypeError for invalid or contradictory options.
 */
export async function listenChannelz(source: Source, options: ListenOptions = {}): Promise<ChannelzListener> {
  const { keepsProcessAlive = true } = options;
  const given = completeLimits(options.limits);
  const limit = connectionLimit(given.maxConnections);
  const limits = { ...given, maxConnections: limit.maxConnections };
  const checkToken = createTokenCheck(options);
  const address = await resolveBind(options);
  if (address.kind === "unix" && options.tls !== undefined) {
    throw new TypeError("tls and path exclude each other: a Unix socket is protected by its file mode.");
  }
  assertProtected(address, checkToken !== undefined, options);

  const stopping = new AbortController();
  const health = options.health ?? createHealth();
  const connections = createConnections(limits, () => options.onShortage?.(limit));
  const services = createLazyServices(async () => {
    const { createServices } = await import("./create-services.js");
    // Lets requests that arrived meanwhile be handled between the steps.
    await nextTurn();
    const more = await options.services?.();
    await nextTurn();
    return createServices({
      source,
      health,
      more,
      maxMessageBytes: limits.maxMessageBytes,
      onTooLarge: () => connections.counters.requestsTooLarge++,
      signal: stopping.signal,
    });
  });
  const observers = new Set<ListenObserver>();
  const front = createHttpFront({
    connections,
    limits,
    guard: createGuard({
      isLocal: address.isLocal,
      allowedHosts: [...(options.allowedHosts ?? []), ...(options.host ? [options.host] : [])],
      allowedOrigins: options.allowedOrigins ?? [],
      checkToken,
      admit: options.admit,
    }),
    services,
    fallback: options.fallback,
    publicPaths: new Set(options.publicPaths),
    cors: options.cors,
    onSession(session) {
      for (const observer of observers) observer.onHttp2Session?.(session);
    },
    isEncrypted: options.tls !== undefined,
  });
  let server: Server;
  try {
    const enter: (connection: Connection) => void = options.tls
      ? createTlsFront(options.tls, limits, connections, front.serve, stopping.signal)
      : front.serve;
    // Small responses are sent at once, and the kernel detects dead peers.
    server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 }, (socket) => {
      if (!keepsProcessAlive) socket.unref();
      const connection = connections.admit(socket);
      if (connection !== undefined) enter(connection);
    });
    if (!keepsProcessAlive) server.unref();
    await bind(server, address);
  } catch (error) {
    stopping.abort();
    services.close();
    await connections.drain(0);
    front.close();
    throw error;
  }
  const observe = (observer: ListenObserver): (() => void) => {
    observer.onHttp1Server?.(front.http1Server);
    observer.onListening?.(server);
    for (const session of connections.sessions()) observer.onHttp2Session?.(session);
    observers.add(observer);
    return () => void observers.delete(observer);
  };
  if (options.observer !== undefined) observe(options.observer);
  const open: OpenListener = { observe, closed: stopping.signal };
  const onQuery = (reply: unknown): void => (reply as (listener: OpenListener) => void)(open);
  queries.subscribe(onQuery);
  opened.publish(open);
  // A failed accept (out of file descriptors, for example) must not end the process.
  server.on("error", () => connections.counters.connectionsRefused++);
  for (const channelzPackage of channelzPackages) health.set(`${channelzPackage}.Channelz`, "SERVING");

  const target = targetOf(server, address);
  let closed: Promise<void> | undefined;
  const close = async (deadlineMs: number): Promise<void> => {
    const ended = new Promise<void>((resolve) => server.close(() => resolve()));
    queries.unsubscribe(onQuery);
    services.close();
    health.shutdown();
    stopping.abort();
    await connections.drain(deadlineMs);
    front.close();
    await ended;
  };
  const listener: ChannelzListener = {
    address: target,
    url: address.kind === "unix" ? target : `${options.tls ? "https" : "http"}://${target}`,
    health,
    stats: connections.stats,
    close: ({ deadlineMs = 5000 } = {}) => (closed ??= close(deadlineMs)),
    [Symbol.asyncDispose]: () => listener.close(),
  };
  return listener;
}

/** Throws LISTEN_EXPOSED if others can reach the address and nothing protects it. */
function assertProtected(address: BindAddress, hasToken: boolean, { tls, requiresTls }: ListenOptions): void {
  if (address.isLocal) return;
  const where = address.kind === "tcp" ? address.host : "an abstract Unix socket";
  if (!hasToken && tls?.ca === undefined) {
    throw new ChannelzError(
      "LISTEN_EXPOSED",
      `Other users or machines could read Channelz on ${where}. Set token or tokenFile, use mutual TLS (tls.ca), or listen on 127.0.0.1 or a Unix socket path.`,
    );
  }
  if (requiresTls === true && tls === undefined) {
    throw new ChannelzError(
      "LISTEN_EXPOSED",
      `The token would be sent unencrypted to ${where}. Set tls, or listen on 127.0.0.1 or a Unix socket path.`,
    );
  }
}
