import type { Registry } from "@wirescope/channelz";
import { observeGrpcJs } from "../grpc-js/index.js";
import { observeHttpModule } from "../http/observe-module.js";
import { observeHttp2Module } from "../http2/observe-module.js";
import { observeListeners } from "../listener/observe-listeners.js";
import { observeToolServers } from "../tool-server/index.js";
import { observeUndici } from "../undici/observe-undici.js";

/** Which of the runtimes of a process to observe; all of them by default. */
export interface ObserveProcessOptions {
  /** `node:http2`, and with it connect-node. */
  readonly http2?: boolean;
  /** `node:http` and `node:https`. */
  readonly http?: boolean;
  /** The global `fetch` and `WebSocket`, and every copy of undici. */
  readonly undici?: boolean;
  /** Every copy of `@grpc/grpc-js` that is loaded, now or later. */
  readonly grpcJs?: boolean;
  /** Tool servers that are connected to with `@wirescope/tool-server`. */
  readonly toolServers?: boolean;
  /** The listeners of `listenChannelz`, also that of this registry: what reads it then counts as calls of a server in it. */
  readonly listeners?: boolean;
  /**
   * How many channels of clients are kept that have nothing to show but their past, of HTTP/2, HTTP/1.1 and undici each; beyond
   * that, the one that was used longest ago is closed when the next comes. Default 100.
   */
  readonly maxIdleChannels?: number;
}

/** What observes a process, until it is stopped. */
export interface ProcessObservation {
  /** Takes all that was observed out of the registry. From now on it costs no more than a check; it can be observed again. */
  stop(): void;
}

/**
 * Shows all RPC traffic of this process in the registry from now on: every server and client of HTTP/2 and
 * HTTP/1.1, `fetch` and undici, every channel and server of grpc-js, every tool server, and the listeners of Channelz themselves. Servers that listen already show at once.
 *
 * A second call for the same registry shares the observation, until the last has stopped. Throws a TypeError if another
 * registry is filled already.
 */
export function observeProcess(registry: Registry, options: ObserveProcessOptions = {}): ProcessObservation {
  const stops: (() => void)[] = [];
  const stop = (): void => {
    for (const one of stops.splice(0).reverse()) one();
  };
  try {
    // Instruments that know more about their connections come first.
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
