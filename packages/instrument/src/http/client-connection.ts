import { type EventEmitter, errorMonitor } from "node:events";
import type { Socket } from "node:net";
import type { SocketAddress, SocketHandle } from "@wirescope/channelz";
import { causeOf } from "../cause.js";
import { guardNode } from "../guard-listener.js";
import { readEndpoints, unixAddress } from "../sockets/addresses.js";
import { describeSocket } from "../sockets/describe-socket.js";
import { isTls } from "../sockets/tls.js";
import { type ClientChannel, type ClientSubchannel, closeIfUnused } from "./client-channel.js";
import type { ExchangeHolder, ExchangeTracker } from "./exchange-tracker.js";

const connectionKey: unique symbol = Symbol("wirescope.connection");

interface Opened {
  [connectionKey]?: ClientConnection | undefined;
  /** Set by Node's HTTP client after an error of the socket or of its parser. */
  readonly _hadError?: boolean;
}

/** The connection of a socket, observed from now on. Undefined if the socket or the channel is closed. */
export function connectionOf(
  socket: Socket & Opened,
  channel: ClientChannel,
  path: string | undefined,
): ClientConnection | undefined {
  const known = socket[connectionKey];
  if (known !== undefined || socket.destroyed || channel.isClosed) return known;
  const connection = new ClientConnection(socket, channel, path);
  socket[connectionKey] = connection;
  return connection;
}

/** Marks a socket that the client itself destroys: the error that it passes is not a connection failure. */
export function abandonConnection(socket: (Socket & Opened) | null | undefined): void {
  socket?.[connectionKey]?.abandon();
}

/** A connection that a client opened, from the first attempt to its end. */
export class ClientConnection implements ExchangeHolder {
  readonly #socket: Socket & Opened;
  /** The channel that opened it. */
  readonly #channel: ClientChannel;
  readonly #path: string | undefined;
  /** The channels that use it; their state depends on it. */
  readonly #users: ClientChannel[];
  /** The subchannel of the address that it connects to or is connected to. */
  #subchannel: ClientSubchannel | undefined;
  #handle: SocketHandle | undefined;
  /** The current exchange. There is only one, because Node's client does not pipeline. */
  #exchange: ExchangeTracker | undefined;
  #cause: string | undefined;
  #isAbandoned = false;

  constructor(socket: Socket & Opened, channel: ClientChannel, path: string | undefined) {
    this.#socket = socket;
    this.#channel = channel;
    this.#path = path;
    this.#users = [channel];
    channel.connections.add(this);
    channel.connectivity.begin();
    // errorMonitor: the application's own error handling does not change.
    (socket as EventEmitter).on(errorMonitor, this.#onError);
    socket.on("close", this.#onClose);
    if (isPending(socket)) {
      // Node connects to a path at once, so that attempt has already started; attempts to addresses start later.
      if (path !== undefined) this.#beginAttempt(addressText(unixAddress(path)));
      socket.on("connectionAttempt", this.#onAttempt);
      socket.on("connectionAttemptFailed", this.#onAttemptFailed);
      socket.on("connectionAttemptTimeout", this.#onAttemptTimeout);
      socket.prependListener(readyEvent(socket), this.#onReady);
    } else {
      this.#onReady();
    }
  }

  /** Assigns the connection to an exchange, which begins when the connection is ready. */
  begin(exchange: ExchangeTracker, channel: ClientChannel): void {
    this.#exchange = exchange;
    exchange.assigned(this);
    this.#share(channel);
    const subchannel = this.#subchannel;
    if (this.#handle !== undefined && subchannel !== undefined) exchange.connected(this.#handle, subchannel.handle);
  }

  abandon(): void {
    const { destroyed, errored } = this.#socket;
    if (!destroyed && !errored) this.#isAbandoned = true;
  }

  exchangeEnded(exchange: ExchangeTracker): void {
    if (this.#exchange === exchange) this.#exchange = undefined;
  }

  #share(channel: ClientChannel): void {
    if (this.#users.includes(channel)) return;
    this.#users.push(channel);
    channel.connectivity.begin();
    if (this.#handle === undefined || this.#subchannel === undefined) return;
    channel.use(this.#subchannel);
    channel.connectivity.succeed();
  }

  #beginAttempt(address: string): void {
    this.#subchannel = this.#channel.subchannelAt(address);
    this.#subchannel.connectivity.begin();
  }

  readonly #onAttempt = guardNode((ip: string, port: number): void => this.#beginAttempt(addressText({ ip, port })));

  readonly #onAttemptFailed = guardNode((ip: string, port: number, _family: number, error?: Error): void => {
    // The start of the first attempt is missed if the lookup returns at once.
    if (this.#subchannel === undefined) this.#onAttempt(ip, port);
    this.#subchannel?.connectivity.fail(causeOf(error));
    this.#subchannel = undefined;
  });

  readonly #onAttemptTimeout = (ip: string, port: number, family: number): void => {
    this.#onAttemptFailed(ip, port, family, new Error("connection attempt timed out, trying the next address"));
  };

  readonly #onReady = guardNode((): void => {
    this.#stopAttempts();
    const socket = this.#socket;
    const { target } = this.#channel;
    const endpoints = readEndpoints(socket, { path: this.#path, target });
    if (this.#subchannel === undefined) this.#beginAttempt(addressText(endpoints.remote));
    const subchannel = this.#subchannel!;
    this.#handle = this.#channel.registry.addSocket({
      ...endpoints,
      parent: subchannel.handle,
      subject: socket,
      describe: describeSocket,
    });
    subchannel.connectivity.succeed();
    for (const user of this.#users) {
      user.use(subchannel);
      user.connectivity.succeed();
    }
    this.#exchange?.connected(this.#handle, subchannel.handle);
  });

  readonly #onError = (error: Error): void => {
    if (!this.#isAbandoned) this.#cause ??= causeOf(error);
  };

  readonly #onClose = guardNode((): void => {
    // A peer that exits or is killed ends its data, which is no error of the socket.
    if (this.#socket.readableEnded && this.#exchange?.isAwaitingResponse) this.#cause ??= "closed with calls in flight";
    // Node destroys the socket without an error if it cannot parse the response.
    if (!this.#isAbandoned && this.#socket._hadError === true) this.#cause ??= "the response is not valid HTTP";
    // After an upgrade, the stream ended properly if the peer ended its data.
    this.#exchange?.connectionClosed(this.#cause === undefined && this.#socket.readableEnded);
    this.stop(this.#cause);
  });

  /** Stops showing the connection; with a cause, it was lost. */
  stop(cause?: string): void {
    const socket = this.#socket;
    socket[connectionKey] = undefined;
    this.#channel.connections.delete(this);
    this.#stopAttempts();
    socket.off(errorMonitor, this.#onError);
    socket.off("close", this.#onClose);
    const wasReady = this.#handle !== undefined;
    this.#handle?.close(cause ?? "");
    const sides = this.#subchannel === undefined ? this.#users : [this.#subchannel, ...this.#users];
    for (const { connectivity } of sides) {
      if (wasReady) connectivity.end(cause);
      else connectivity.fail(cause);
    }
    if (this.#subchannel !== undefined) closeIfUnused(this.#subchannel, cause ?? "");
  }

  #stopAttempts(): void {
    const socket = this.#socket;
    socket.off("connectionAttempt", this.#onAttempt);
    socket.off("connectionAttemptFailed", this.#onAttemptFailed);
    socket.off("connectionAttemptTimeout", this.#onAttemptTimeout);
    socket.off(readyEvent(socket), this.#onReady);
  }
}

function readyEvent(socket: Socket): string {
  return isTls(socket) ? "secureConnect" : "connect";
}

function isPending(socket: Socket & { readonly secureConnecting?: boolean }): boolean {
  return socket.connecting || socket.secureConnecting === true;
}

/** An address as the target of a subchannel. */
export function addressText(address: SocketAddress | undefined): string {
  if (address === undefined) return "";
  if ("ip" in address)
    return address.ip.includes(":") ? `[${address.ip}]:${address.port}` : `${address.ip}:${address.port}`;
  return "path" in address ? `unix:${address.path}` : address.name;
}
