import { type EventEmitter, errorMonitor } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Registry, ServerHandle, SocketHandle } from "@wirescope/channelz";
import { codeOf } from "../cause.js";
import type { EventCoalescer } from "../event-coalescer.js";
import { guardNode } from "../guard-listener.js";
import { readEndpoints } from "../sockets/addresses.js";
import { describeSocket } from "../sockets/describe-socket.js";
import { beginExchange, type ExchangeCounters, type ExchangeTracker } from "./exchange-tracker.js";

const connectionKey: unique symbol = Symbol("wirescope.connection");

interface Accepted {
  [connectionKey]?: ServerConnection | undefined;
}

/** Whether a request counts as a call of its server. */
export type IsCall = (headers: IncomingHttpHeaders, method: string | undefined, url: string | undefined) => boolean;

/** The server that connections belong to. */
export interface ConnectionOwner {
  readonly registry: Registry;
  readonly server: ServerHandle;
  /** Reports lost connections. */
  readonly losses: EventCoalescer;
  readonly connections: Set<ServerConnection>;
  readonly isCall: IsCall;
}

/** A connection that a server accepted, and the exchanges in progress on it. */
export class ServerConnection implements ExchangeCounters {
  readonly isClient = false;
  readonly calls: readonly ServerHandle[];
  readonly #socket: Socket & Accepted;
  readonly #owner: ConnectionOwner;
  readonly #handle: SocketHandle;
  /** More than one if the client pipelines. */
  readonly #exchanges: ExchangeTracker[] = [];
  #cause = "";

  constructor(owner: ConnectionOwner, socket: Socket & Accepted) {
    const { registry, server } = owner;
    this.calls = [server];
    this.#owner = owner;
    this.#socket = socket;
    const endpoints = readEndpoints(socket);
    this.#handle = registry.addSocket({ ...endpoints, server, subject: socket, describe: describeSocket });
    socket[connectionKey] = this;
    owner.connections.add(this);
    // errorMonitor: the application's own error handling does not change.
    (socket as EventEmitter).on(errorMonitor, this.#onError);
    socket.on("close", this.#onClose);
  }

  static of(socket: Socket & Accepted): ServerConnection | undefined {
    return socket[connectionKey];
  }

  nameRemote(name: string): void {
    this.#handle.nameRemote(name);
  }

  /** A request arrived. */
  requested(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#owner.isCall(request.headers, request.method, request.url)) return;
    const exchange = beginExchange(this);
    this.#exchanges.push(exchange);
    exchange.serve(this.#handle, request, response);
  }

  /** A request arrived that turns the connection into something else: a WebSocket, or a tunnel. */
  upgraded(isWebSocket: boolean): void {
    const exchange = beginExchange(this);
    this.#exchanges.push(exchange);
    exchange.serveTunnel(this.#handle);
    const failed = (): void => {
      // Trackers are reused.
      if (this.#exchanges.includes(exchange)) exchange.tunnelFailed();
    };
    watchStatus(this.#socket, (status) => {
      if (status >= 300) failed();
    });
    // A server that gets or sends a close frame ends its side first (RFC 6455, 7.1.1). A client that is killed or terminated
    // ends its own, and the server then ends properly too.
    if (isWebSocket) this.#socket.once("end", () => this.#socket.writableEnded || failed());
  }

  exchangeEnded(exchange: ExchangeTracker): void {
    const exchanges = this.#exchanges;
    const at = exchanges.indexOf(exchange);
    if (at < 0) return;
    // The order does not matter, and this allocates nothing.
    exchanges[at] = exchanges.at(-1)!;
    exchanges.pop();
  }

  /** Removes the connection from the registry. Exchanges in progress are counted to their end. */
  stop(reason: string): void {
    this.#socket.off(errorMonitor, this.#onError);
    this.#socket.off("close", this.#onClose);
    this.#socket[connectionKey] = undefined;
    this.#owner.connections.delete(this);
    this.#handle.close(reason);
  }

  readonly #onError = (error: Error): void => {
    this.#cause = codeOf(error);
  };

  readonly #onClose = guardNode((): void => {
    // If the connection was upgraded, the stream ended properly if this side ended its data.
    const hasEnded = this.#cause === "" && this.#socket.writableFinished;
    for (const exchange of [...this.#exchanges]) exchange.connectionClosed(hasEnded);
    this.stop("");
    if (this.#cause !== "") this.#owner.losses.add(this.#cause);
  });
}

type Write = (this: Socket, ...args: unknown[]) => unknown;

/**
 * Calls `listener` with the status of the response to an upgrade. The application writes it to the socket as bytes, so only the
 * first call of these methods shows it.
 */
function watchStatus(socket: Socket, listener: (status: number) => void): void {
  let isOn = true;
  const wrappers = (["write", "end"] as const).map((method) => {
    const value: Write = function (...args) {
      if (isOn) onBytes(args[0]);
      return (Object.getPrototypeOf(this)[method] as Write).apply(this, args);
    };
    return { method, value };
  });
  const onBytes = guardNode((bytes: unknown): void => {
    isOn = false;
    // A wrapper that was wrapped again since stays in the chain and does nothing.
    for (const { method, value } of wrappers) if (socket[method] === value) Reflect.deleteProperty(socket, method);
    const start = typeof bytes === "string" || bytes instanceof Uint8Array ? Buffer.from(bytes.slice(0, 12)) : "";
    listener(Number(/^HTTP\/1\.\d (\d{3})/.exec(start.toString("latin1"))?.[1] ?? 0));
  });
  for (const { method, value } of wrappers) {
    if (!Object.hasOwn(socket, method))
      Object.defineProperty(socket, method, { value, configurable: true, writable: true });
  }
}
