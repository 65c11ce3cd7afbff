import type { Registry } from "@wirescope/channelz";
import { observeGrpcJs } from "../grpc-js/observe-grpc-js.js";
import { observeHttpModule } from "../http/observe-module.js";
import { observeHttp2Module } from "../http2/observe-module.js";
import { observeListeners } from "../listener/observe-listeners.js";
import { observeToolServers } from "../tool-server/index.js";
import { observeUndici } from "../undici/observe-undici.js";

/** What to observe in a process; everything by default. */
export interface ObserveProcessOptions {
  /** `node:http2`, including connect-node. */
  readonly http2?: boolean;
  /** `node:http` and `node:https`. */
  readonly http?: boolean;
  /** The global `fetch` and `WebSocket`, and every copy of undici. */
  readonly undici?: boolean;
  /** Every copy of `@grpc/grpc-js` that is loaded now or later. */
  readonly grpcJs?: boolean;
  /** Tool servers that `@wirescope/tool-server` connects to. */
  readonly toolServers?: boolean;
  /** The listeners of `listenChannelz`, including that of this registry, so that reading the registry counts as calls in it. */
  readonly listeners?: boolean;
  /**
   * The maximum number of client channels without a connection or call, for each of HTTP/2, HTTP/1.1 and undici. Above that, the
   * least recently used one is closed when a channel is added. Default 100.
   */
  readonly maxIdleChannels?: number;
}

/** The observation of a process. */
export interface ProcessObservation {
  /** Removes everything observed from the registry. The remaining overhead is a check; the process can be observed again. */
  stop(): void;
}

/**
 * Shows all RPC traffic of this process in the registry from now on: HTTP/2 and HTTP/1.1 servers and clients, `fetch` and undici,
 * grpc-js channels and servers, tool servers, and the Channelz listeners themselves. Servers that already listen appear at once.
 *
 * A second call with the same registry shares the observation, until the last has stopped. Throws a TypeError if the process is
 * observed in another registry.
 */
export function observeProcess(registry: Registry, options: ObserveProcessOptions = {}): ProcessObservation {
  const stops: (() => void)[] = [];
  const stop = (): void => {
    for (const stop of stops.splice(0).reverse()) stop();
  };
  try {
    // The more specific instruments come first, because they claim their connections.
    if (options.grpcJs !== false) {
      const grpcJs = observeGrpcJs(registry);
      stops.push(() => grpcJs.stop());
    }
    if (options.toolServers !== false) stops.push(observeToolServers({ registry }).stop);
    if (options.listeners !== false) stops.push(observeListeners(registry));
    if (options.http2 !== false) stops.push(observeHttp2Module(registry, options));
    if (options.http !== false) stops.push(observeHttpModule(registry, options));
    if (options.undici !== false) stops.push(observeUndici(registry, options).stop);
  } catch (error) {
    stop();
    throw error;
  }
  return { stop };
}
