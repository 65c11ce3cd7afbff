import { Agent, ClientRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { isClaimed } from "../claimed-sockets.js";
import { guardNode } from "../guard-listener.js";
import type { ClientChannel } from "./client-channel.js";
import { abandonConnection, connectionOf } from "./client-connection.js";
import { beginExchange, type ExchangeTracker, exchangeKey, type Followed } from "./exchange-tracker.js";
import { patchMessages } from "./patch-messages.js";

/** In request options or on a socket: the channel to which it belongs. */
export const channelKey: unique symbol = Symbol("wirescope.channel");

/** A request or socket with a channel. */
export interface Owned {
  [channelKey]?: ClientChannel;
}

/** The request options that are used. */
export interface RequestTarget extends Owned {
  readonly host?: string | null | undefined;
  readonly port?: number | string | null | undefined;
  readonly socketPath?: string | null | undefined;
}

/** Finds the channel of a request whose options do not contain one. */
export type ChannelFinder = (request: ClientRequest, target: RequestTarget) => ClientChannel;

/** On a request: the socket that it was given, because Node sets `request.socket` only in the next tick. */
const givenSocketKey = Symbol("wirescope.given-socket");

interface Requested extends Followed {
  [givenSocketKey]?: Socket;
  readonly socket: Socket | null;
  readonly destroyed: boolean;
  readonly socketPath?: string;
  onSocket(socket: (Socket & Owned) | null | undefined, error?: unknown): void;
  emit(event: string | symbol, ...args: unknown[]): boolean;
  destroy(error?: Error): this;
}

interface AgentMethods {
  addRequest(request: Requested, target: RequestTarget, port?: unknown, localAddress?: unknown): void;
}

let finder: ChannelFinder | undefined;
let isPatched = false;

/** Sets the function that finds the channel of requests without one; undefined for none. */
export function findChannelsWith(find: ChannelFinder | undefined): void {
  finder = find;
}

/**
 * Patches the methods that every request of `node:http` and `node:https` calls. A request without a channel costs one property
 * read.
 */
export function patchClients(): void {
  if (isPatched) return;
  isPatched = true;
  patchMessages();
  patchAgent(Agent.prototype as unknown as AgentMethods);
  patchRequest(ClientRequest.prototype as unknown as Requested);
}

function patchAgent(prototype: AgentMethods): void {
  const { addRequest } = prototype;

  prototype.addRequest = function (request, target, port, localAddress) {
    follow(request, target);
    try {
      return addRequest.call(this, request, target, port, localAddress);
    } catch (error) {
      request[exchangeKey]?.finish(false);
      throw error;
    }
  };
}

function patchRequest(prototype: Requested): void {
  const { onSocket, emit, destroy } = prototype;

  prototype.onSocket = function (socket, error) {
    if (socket) observeSocket(this, socket);
    return onSocket.call(this, socket, error);
  };

  // Called by the application, its signal or its timeout: network errors destroy the socket first.
  prototype.destroy = function (error) {
    if (!this.destroyed) abandonConnection(this.socket ?? this[givenSocketKey]);
    return destroy.call(this, error);
  };

  prototype.emit = function (event) {
    const exchange = this[exchangeKey];
    // biome-ignore lint/complexity/noArguments: passed on as they are, they cost no array an event
    const args = arguments;
    if (exchange !== undefined) observeEvent(this, exchange, event, args[1]);
    return emit.apply(this, args as unknown as [string]);
  };
}

const follow = guardNode((request: Requested, target: Owned): void => {
  const channel = target[channelKey] ?? finder?.(request as unknown as ClientRequest, target);
  if (channel === undefined || channel.isClosed) return;
  const exchange = beginExchange(channel);
  channel.exchangeBegan();
  exchange.follow(request as unknown as ClientRequest);
});

const observeSocket = guardNode((request: Requested, socket: Socket & Owned): void => {
  request[givenSocketKey] = socket;
  // Custom agents may not call `addRequest`, which follows requests otherwise.
  if (request[exchangeKey] === undefined && !isClaimed(socket)) follow(request, socket);
  const exchange = request[exchangeKey];
  // At once, so that every connection attempt is seen.
  if (exchange !== undefined) connectionOf(socket, channelOf(exchange), request.socketPath || undefined);
  if (request.destroyed) abandonConnection(socket);
});

const observeEvent = guardNode(
  (request: Requested, exchange: ExchangeTracker, event: string | symbol, value: unknown): void => {
    switch (event) {
      case "socket": {
        const channel = channelOf(exchange);
        connectionOf(value as Socket, channel, request.socketPath || undefined)?.begin(exchange, channel);
        break;
      }
      case "response":
        exchange.responded(value as IncomingMessage);
        break;
      case "upgrade":
      case "connect":
        exchange.tunneled(value as IncomingMessage);
        break;
      case "finish":
        exchange.finished(request.socket);
        break;
      case "error":
        if (isFinalError(request, value)) exchange.closed();
        break;
      case "close":
        exchange.closed();
        break;
    }
  },
);

/** The counters of a client's exchange are its channel. */
function channelOf(exchange: ExchangeTracker): ClientChannel {
  return exchange.counters as ClientChannel;
}

/** Whether a request ends with this error: if its connection failed, Node emits no other event. Others may emit several errors. */
function isFinalError(request: Requested, error: unknown): boolean {
  return request.socket === null && (error as NodeJS.ErrnoException).code !== "ERR_STREAM_WRITE_AFTER_END";
}
