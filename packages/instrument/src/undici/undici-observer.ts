import type { Socket } from "node:net";
import type { Registry } from "@wirescope/channelz";
import { isClaimed } from "../claimed-sockets.js";
import { Origins } from "../http/origins.js";
import { watchChunks } from "./patch-chunks.js";
import { UndiciChannel } from "./undici-channel.js";
import { connectionOf } from "./undici-connection.js";
import { UndiciExchange } from "./undici-exchange.js";
import type { UndiciMessages, UndiciRequest } from "./undici-messages.js";

/** One listener for each channel, so that a channel without one does not compile. */
export type UndiciListeners = { readonly [Name in keyof UndiciMessages]: (message: UndiciMessages[Name]) => void };

interface Address {
  readonly protocol: string;
  readonly host: string;
  readonly port: number;
}

/** How many origins of HTTP/2 are remembered. */
const maxHttp2Origins = 1000;

/** Turns what undici publishes into channels, connections and calls. */
export class UndiciObserver {
  readonly #origins: Origins<UndiciChannel>;
  readonly #exchanges = new WeakMap<UndiciRequest, UndiciExchange>();
  /** Origins whose connections use HTTP/2, which `node:http2` shows. */
  readonly #http2Origins = new Set<string>();

  constructor(registry: Registry, maxIdleChannels: number) {
    this.#origins = new Origins(
      maxIdleChannels,
      // The name tells it apart from the channel of node:http to the same origin, which has its own connections.
      (target) => new UndiciChannel(registry, registry.addChannel({ target, name: "undici" }), target),
    );
  }

  readonly listeners: UndiciListeners = {
    "request:create": ({ request }) => this.#created(request),
    "client:beforeConnect": ({ connectParams }) => this.#usedChannel(connectParams)?.attemptBegan(),
    "client:connected": ({ connectParams, socket }) => this.#connected(addressOf(connectParams), socket),
    "client:connectError": ({ connectParams, error }) => this.#usedChannel(connectParams)?.attemptFailed(error),
    "client:sendHeaders": ({ request, socket }) => this.#assigned(request, socket),
    "request:bodyChunkSent": ({ request, chunk }) => this.#exchanges.get(request)?.chunkSent(chunk),
    "request:bodySent": ({ request }) => this.#exchanges.get(request)?.requestSent(),
    "request:headers": ({ request, response }) =>
      this.#exchanges.get(request)?.responded(response.statusCode, response.headers),
    "request:bodyChunkReceived": ({ request, chunk }) => this.#exchanges.get(request)?.chunkReceived(chunk),
    "request:trailers": ({ request, trailers }) => this.#exchanges.get(request)?.completed(trailers),
    "request:error": ({ request }) => this.#exchanges.get(request)?.failed(),
  };

  close(reason: string): void {
    this.#origins.close(reason);
  }

  #created(request: UndiciRequest): void {
    const address = originOf(request.origin);
    if (address === undefined || this.#http2Origins.has(keyOf(address))) return;
    watchChunks(request);
    const channel = this.#origins.at(address.protocol, address.host, address.port, "");
    this.#exchanges.set(request, new UndiciExchange(channel, request));
  }

  #assigned(request: UndiciRequest, socket: Socket): void {
    const exchange = this.#exchanges.get(request);
    if (exchange === undefined) return;
    if (isClaimed(socket) || isHttp2(socket)) {
      exchange.leave();
      if (exchange.channel.isSuperfluous) this.#origins.drop(exchange.channel, "shown elsewhere");
      return;
    }
    const connection = connectionOf(socket, exchange.channel);
    if (connection !== undefined) exchange.assigned(connection);
  }

  #connected(address: Address, socket: Socket): void {
    if (isHttp2(socket)) {
      if (this.#http2Origins.size >= maxHttp2Origins) this.#http2Origins.clear();
      this.#http2Origins.add(keyOf(address));
    } else {
      this.#http2Origins.delete(keyOf(address));
    }
    const channel = this.#usedChannel({ ...address, hostname: address.host });
    if (channel === undefined) return;
    if (!isHttp2(socket)) connectionOf(socket, channel);
    channel.attemptSucceeded();
  }

  /** The channel of an origin that has requests: without any, the connection is not one of those that are shown here. */
  #usedChannel(params: ConnectTarget): UndiciChannel | undefined {
    const { protocol, host, port } = addressOf(params);
    const channel = this.#origins.known(protocol, host, port, "");
    return channel?.isUsed ? channel : undefined;
  }
}

interface ConnectTarget {
  readonly protocol: string;
  readonly hostname: string;
  readonly port: string | number;
}

function addressOf({ protocol, hostname, port }: ConnectTarget): Address {
  return { protocol, host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (protocol === "https:" ? 443 : 80) };
}

/** Most requests of a process have the origin of the one before. */
let lastOrigin: unknown;
let lastAddress: Address | undefined;

function originOf(origin: unknown): Address | undefined {
  if (origin === lastOrigin) return lastAddress;
  const text = String(origin);
  lastAddress = URL.canParse(text) ? addressOf(new URL(text)) : undefined;
  lastOrigin = origin;
  return lastAddress;
}

function keyOf({ protocol, host, port }: Address): string {
  return `${protocol}//${host}:${port}`;
}

function isHttp2(socket: Socket & { readonly alpnProtocol?: unknown }): boolean {
  return socket.alpnProtocol === "h2";
}
