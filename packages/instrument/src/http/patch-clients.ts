import { Agent, ClientRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { ClientChannel } from "./client-channel.js";
import { connectionOf } from "./client-connection.js";
import { beginExchange, exchangeKey, type Followed } from "./exchange-tracker.js";
import { patchMessages } from "./patch-messages.js";

/** In the options of a request, or on a socket: the channel to which it belongs. */
export const channelKey: unique symbol = Symbol("wirescope.channel");

/** What belongs to a channel that somebody named. */
export interface Owned {
  [channelKey]?: ClientChannel;
}

/** What is looked at of the options with which a request is made. */
export interface RequestTarget extends Owned {
  readonly host?: string | null | undefined;
  readonly port?: number | string | null | undefined;
  readonly socketPath?: string | null | undefined;
}

/** Finds the channel of requests that belong to none in particular. */
export type ChannelFinder = (request: ClientRequest, target: RequestTarget) => ClientChannel;

interface Requested extends Followed {
  [exchangeChannelKey]?: ClientChannel | undefined;
  readonly socket: Socket | null;
  readonly socketPath?: string;
  onSocket(socket: (Socket & Owned) | null | undefined, error?: unknown): void;
  emit(event: string | symbol, ...args: unknown[]): boolean;
}

interface AgentMethods {
  addRequest(request: ClientRequest & Requested, target: RequestTarget, ...legacy: unknown[]): void;
}

/** On a request: the channel of its exchange. */
const exchangeChannelKey = Symbol("wirescope.exchange-channel");

let finder: ChannelFinder | undefined;
let isPatched = false;

/** Says where requests belong of which nobody else has said it; undefined to let them be. */
export function findChannelsWith(find: ChannelFinder | undefined): void {
  finder = find;
}

/**
 * Watches the methods through which every request of `node:http` and `node:https` passes. A request that belongs to no
 * channel costs a look at a property.
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

  prototype.addRequest = function (request, target, ...legacy) {
    follow(request, target);
    try {
      return Reflect.apply(addRequest, this, [request, target, ...legacy]);
    } catch (error) {
      request[exchangeKey]?.finish(false);
      throw error;
    }
  };
}

function patchRequest(prototype: Requested): void {
  const { onSocket, emit } = prototype;

  prototype.onSocket = function (socket, error) {
    if (socket) {
      // An agent of another make does not pass by where requests are first seen.
      if (this[exchangeKey] === undefined) follow(this, socket[channelKey] ? { [channelKey]: socket[channelKey] } : {});
      const channel = this[exchangeChannelKey];
      // Before anything happens on it, so that every attempt to connect is seen.
      if (this[exchangeKey] !== undefined && channel !== undefined)
        connectionOf(socket, channel, this.socketPath || undefined);
    }
    return onSocket.call(this, socket, error);
  };

  prototype.emit = function (event, ...args) {
    const exchange = this[exchangeKey];
    if (exchange !== undefined) {
      const channel = this[exchangeChannelKey]!;
      switch (event) {
        case "socket":
          connectionOf(args[0] as Socket, channel, this.socketPath || undefined).begin(exchange, channel);
          break;
        case "response":
          exchange.responded(args[0] as IncomingMessage);
          break;
        case "upgrade":
        case "connect":
          exchange.tunneled(args[0] as IncomingMessage);
          break;
        case "finish":
          exchange.finished(this.socket);
          break;
        case "error":
          if (isTheEnd(this, args[0])) exchange.closed();
          break;
        case "close":
          exchange.closed();
          break;
      }
    }
    return Reflect.apply(emit, this, [event, ...args]);
  };
}

function follow(request: Requested, target: RequestTarget): void {
  const named = target[channelKey];
  const channel = named ?? finder?.(request as unknown as ClientRequest, target);
  if (channel === undefined || channel.isClosed) return;
  const exchange = beginExchange(channel);
  channel.exchangeBegan();
  exchange.follow(request as unknown as ClientRequest);
  request[exchangeChannelKey] = channel;
}

/** Node says no more of a request whose connection could not be made; else an error may be one of many. */
function isTheEnd(request: Requested, error: unknown): boolean {
  return request.socket === null && (error as NodeJS.ErrnoException).code !== "ERR_STREAM_WRITE_AFTER_END";
}
