import type { Socket } from "node:net";
import type { Registry } from "@wirescope/channelz";
import { isClaimed } from "../claimed-sockets.js";
import { Origins } from "../http/origins.js";
import { unixPathOf } from "../sockets/describe-socket.js";
import { ConnectAttempts } from "./connect-attempts.js";
import { type Origin, originKey, originOf, parseOrigin } from "./origin.js";
import { watchChunks } from "./patch-chunks.js";
import { UndiciChannel } from "./undici-channel.js";
import { connectionOf } from "./undici-connection.js";
import { UndiciExchange } from "./undici-exchange.js";
import type { UndiciMessages, UndiciRequest } from "./undici-messages.js";

/** One listener for each channel, so that a missing one is a compile error. */
export type UndiciListeners = { readonly [Name in keyof UndiciMessages]: (message: UndiciMessages[Name]) => void };

/**
 * Turns undici's events into channels, connections and calls. A connection is added to the registry only once it is known that no
 * other instrument shows it.
 */
export class UndiciObserver {
  readonly #origins: Origins<UndiciChannel>;
  readonly #attempts: ConnectAttempts;
  readonly #exchanges = new WeakMap<UndiciRequest, UndiciExchange>();
  /** The paths of connections to Unix sockets. */
  readonly #paths = new WeakMap<Socket, string>();
  /** The number of requests waiting for a connection, by origin. */
  readonly #waiting = new Map<string, number>();

  constructor(registry: Registry, maxIdleChannels: number) {
    this.#origins = new Origins(
      maxIdleChannels,
      // The name distinguishes it from the channel of node:http to the same origin, which has its own connections.
      (target) => new UndiciChannel(registry, registry.addChannel({ target, name: "undici" }), target),
    );
    this.#attempts = new ConnectAttempts(this.#origins);
  }

  readonly listeners: UndiciListeners = {
    "request:create": ({ request }) => this.#created(request),
    "client:beforeConnect": ({ connectParams, connector }) => this.#attempts.begin(connector, originOf(connectParams)),
    "client:connected": (message) => this.#connected(message),
    "client:connectError": (message) => this.#connectFailed(message),
    "client:sendHeaders": ({ request, socket }) => this.#assigned(request, socket),
    "request:bodyChunkSent": ({ request, chunk }) => this.#exchanges.get(request)?.chunkSent(chunk),
    "request:bodySent": ({ request }) => this.#exchanges.get(request)?.requestSent(),
    "request:headers": ({ request, response }) =>
      this.#exchanges.get(request)?.responded(response.statusCode, response.headers),
    "request:bodyChunkReceived": ({ request, chunk }) => this.#exchanges.get(request)?.chunkReceived(chunk),
    "request:trailers": ({ request, trailers }) => this.#exchanges.get(request)?.completed(trailers),
    "request:error": ({ request }) => this.#failed(request),
  };

  close(reason: string): void {
    this.#attempts.stop();
    this.#origins.close(reason);
  }

  #created(request: UndiciRequest): void {
    const origin = parseOrigin(request.origin);
    if (origin === undefined) return;
    watchChunks(request);
    this.#exchanges.set(request, new UndiciExchange(origin, request));
    const key = originKey(origin);
    this.#waiting.set(key, (this.#waiting.get(key) ?? 0) + 1);
  }

  #connected({ connectParams, connector, socket }: UndiciMessages["client:connected"]): void {
    const origin = originOf(connectParams);
    this.#attempts.setHttp2(origin, isHttp2(socket));
    const shown = this.#attempts.end(connector);
    if (!isHttp2(socket) && !isClaimed(socket)) {
      // undici does not report the path that a client connects to.
      const path = unixPathOf(socket);
      if (path !== undefined) this.#paths.set(socket, path);
      connectionOf(socket, this.#channelAt(origin, path), path);
    }
    shown?.attemptEnded();
    if (shown?.isSuperfluous) this.#origins.drop(shown, "shown elsewhere");
  }

  #connectFailed({ connectParams, connector, error }: UndiciMessages["client:connectError"]): void {
    const shown = this.#attempts.end(connector);
    (shown ?? this.#channelAt(originOf(connectParams))).attemptFailed(error);
  }

  #assigned(request: UndiciRequest, socket: Socket): void {
    const exchange = this.#exchanges.get(request);
    if (exchange === undefined) return;
    if (exchange.isWaiting) this.#removeWaiting(exchange);
    const path = this.#paths.get(socket);
    const channel = isHttp2(socket) || isClaimed(socket) ? undefined : this.#channelAt(exchange.origin, path);
    const connection = channel && connectionOf(socket, channel, path);
    if (channel !== undefined && connection !== undefined) exchange.assigned(connection, channel);
    else exchange.leave();
  }

  #failed(request: UndiciRequest): void {
    const exchange = this.#exchanges.get(request);
    if (exchange === undefined) return;
    const { protocol, host, port } = exchange.origin;
    const wasWaiting = exchange.isWaiting;
    exchange.failed(this.#origins.known(protocol, host, port, ""));
    if (wasWaiting) this.#removeWaiting(exchange);
  }

  #removeWaiting({ origin }: UndiciExchange): void {
    const key = originKey(origin);
    const left = (this.#waiting.get(key) ?? 1) - 1;
    if (left > 0) {
      this.#waiting.set(key, left);
      return;
    }
    this.#waiting.delete(key);
    this.#origins.known(origin.protocol, origin.host, origin.port, "")?.endAttempts();
  }

  #channelAt({ protocol, host, port }: Origin, path = ""): UndiciChannel {
    return this.#origins.at(protocol, host, port, path);
  }
}

function isHttp2(socket: Socket & { readonly alpnProtocol?: unknown }): boolean {
  return socket.alpnProtocol === "h2";
}
