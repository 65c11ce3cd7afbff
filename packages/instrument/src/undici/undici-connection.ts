import { type EventEmitter, errorMonitor } from "node:events";
import type { Socket } from "node:net";
import type { SocketHandle } from "@wirescope/channelz";
import { causeOf } from "../cause.js";
import { isClaimed } from "../claimed-sockets.js";
import { type ClientChannel, type ClientSubchannel, closeIfUnused } from "../http/client-channel.js";
import { addressText } from "../http/client-connection.js";
import { readEndpoints } from "../sockets/addresses.js";
import { describeSocket } from "../sockets/describe-socket.js";
import { guardUndici } from "./guard-undici.js";

const connectionKey: unique symbol = Symbol("wirescope.undici-connection");

type Opened = Socket & { [connectionKey]?: UndiciConnection | undefined };

/** A request on a connection. */
interface ConnectionUser {
  /** The connection closed; `isOrderly` is false if it was lost. */
  connectionClosed(isOrderly: boolean): void;
}

/**
 * The connection of a socket, observed from now on. Undefined if the socket or the channel is closed, or another instrument
 * shows the socket.
 */
export function connectionOf(
  socket: Opened,
  channel: ClientChannel,
  path: string | undefined,
): UndiciConnection | undefined {
  const known = socket[connectionKey];
  if (known !== undefined) known.share(channel);
  if (known !== undefined || socket.destroyed || channel.isClosed || isClaimed(socket)) return known;
  const connection = new UndiciConnection(socket, channel, path);
  socket[connectionKey] = connection;
  return connection;
}

/** Stops showing a connection, because another instrument shows it. */
export function hideConnection(socket: Opened): void {
  socket[connectionKey]?.stop();
}

/** An HTTP/1.1 connection of undici, which reports it after the TLS handshake. */
export class UndiciConnection {
  readonly handle: SocketHandle;
  readonly subchannel: ClientSubchannel;
  readonly #socket: Opened;
  readonly #channel: ClientChannel;
  /** The channels that use it: more than one if a tunnel through a proxy becomes the connection to a target. */
  readonly #users: ClientChannel[];
  readonly #exchanges = new Set<ConnectionUser>();
  #cause: string | undefined;

  constructor(socket: Opened, channel: ClientChannel, path: string | undefined) {
    this.#socket = socket;
    this.#channel = channel;
    this.#users = [channel];
    const endpoints = readEndpoints(socket, { target: channel.target, path });
    this.subchannel = channel.subchannelAt(addressText(endpoints.remote));
    this.handle = channel.registry.addSocket({
      ...endpoints,
      parent: this.subchannel.handle,
      subject: socket,
      describe: describeSocket,
    });
    channel.connections.add(this);
    for (const { connectivity } of [this.subchannel, channel]) {
      connectivity.begin();
      connectivity.succeed();
    }
    // errorMonitor: the application's own error handling does not change.
    (socket as EventEmitter).on(errorMonitor, this.#onError);
    socket.on("close", this.#onClose);
  }

  /** Another channel uses the connection as well. */
  share(channel: ClientChannel): void {
    if (channel.isClosed || this.#users.includes(channel)) return;
    this.#users.push(channel);
    channel.use(this.subchannel);
    channel.connectivity.begin();
    channel.connectivity.succeed();
  }

  begin(exchange: ConnectionUser): void {
    this.#exchanges.add(exchange);
    this.handle.localStreamStarted();
    this.subchannel.handle.callStarted();
  }

  end(exchange: ConnectionUser): void {
    this.#exchanges.delete(exchange);
  }

  readonly #onError = (error: unknown): void => {
    if (isOwnAbort(error) || (isOrderlyEnd(error) && this.#exchanges.size === 0)) return;
    this.#cause ??= causeOf(error);
  };

  readonly #onClose = guardUndici((): void => {
    // undici reports the end of every request except upgraded ones, such as a WebSocket.
    for (const exchange of [...this.#exchanges]) exchange.connectionClosed(this.#cause === undefined);
    this.stop(this.#cause);
  });

  /** Stops showing the connection; with a cause, it was lost. */
  stop(cause?: string): void {
    const socket = this.#socket;
    socket[connectionKey] = undefined;
    this.#channel.connections.delete(this);
    socket.off(errorMonitor, this.#onError);
    socket.off("close", this.#onClose);
    this.handle.close(cause ?? "");
    for (const { connectivity } of [this.subchannel, ...this.#users]) connectivity.end(cause);
    closeIfUnused(this.subchannel, cause ?? "");
  }
}

/**
 * Whether this side ended a connection: by an aborted request, its own timeout, a closed client, or the idle timeout. undici
 * destroys the socket with the reason, which may be any value. Failures caused by the peer are system errors, TLS errors, parser
 * errors, or UND_ERR_SOCKET.
 */
function isOwnAbort(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  const { code } = error as { readonly code?: unknown };
  // Not every parser error has a code.
  if (error.name === "HTTPParserError") return false;
  if (typeof code !== "string" || error.name === "AbortError") return true;
  if ("syscall" in error || "library" in error) return false;
  return !/^(UND_ERR_SOCKET|E[A-Z]+$|ERR_SSL_|ERR_TLS_|CERT_)/.test(code);
}

/** Whether the peer closed the connection properly, which is not a failure while nothing is in progress. */
function isOrderlyEnd(error: unknown): boolean {
  return (error as { readonly code?: unknown } | undefined)?.code === "UND_ERR_SOCKET";
}
