import type { Registry } from "@wirescope/channelz";
import { observeGrpcJs } from "../grpc-js/index.js";
import { observeHttpModule } from "../http/observe-module.js";
import { observeHttp2Module } from "../http2/observe-module.js";

/** Which of the runtimes of a process to observe; all of them by default. */
export interface ObserveProcessOptions {
  /** `node:http2`, and with it connect-node. */
  readonly http2?: boolean;
  /** `node:http` and `node:https`. */
  readonly http?: boolean;
  /** Every copy of `@grpc/grpc-js` that is loaded, now or later. */
  readonly grpcJs?: boolean;
}

/** What observes a process, until it is stopped. */
export interface ProcessObservation {
  /** Takes all that was observed out of the registry. From now on it costs no more than a check; it can be observed again. */
  stop(): void;
}

/**
 * Shows all RPC traffic of this process in the registry from now on, whoever makes it: every server and client of HTTP/2 and
 * HTTP/1.1, and every channel and server of grpc-js.
 */
export function observeProcess(registry: Registry, options: ObserveProcessOptions = {}): ProcessObservation {
  const stops: (() => void)[] = [];
  const stop = (): void => {
    for (const one of stops.splice(0).reverse()) one();
  };
  try {
    // What knows more of its connections comes first.
    if (options.grpcJs !== false) {
      const grpcJs = observeGrpcJs(registry);
      stops.push(() => grpcJs.stop());
    }
    if (options.http2 !== false) stops.push(observeHttp2Module(registry));
    if (options.http !== false) stops.push(observeHttpModule(registry));
  } catch (error) {
    stop();
    throw error;
  }
  return { stop };
}
