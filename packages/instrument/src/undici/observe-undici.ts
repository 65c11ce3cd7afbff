import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Registry } from "@wirescope/channelz";
import { onClaimed } from "../claimed-sockets.js";
import { guardListener } from "../guard-listener.js";
import { SharedObservation } from "../observation.js";
import { listenToChunks } from "./patch-chunks.js";
import { hideConnection } from "./undici-connection.js";
import { UndiciObserver } from "./undici-observer.js";

/** How the requests of undici and `fetch` appear in Channelz. */
export interface ObserveUndiciOptions {
  /**
   * How many channels are kept whose origin has neither a connection nor a request; beyond that, the one that was used
   * longest ago is closed when the next origin comes. Default 100.
   */
  readonly maxIdleChannels?: number;
}

/** The observation of the requests that this process makes with undici. */
export interface UndiciObservation {
  /** Stops showing requests: their channels close. From then on a request costs nothing. */
  stop(): void;
}

const observation = new SharedObservation("The clients of undici are");

/**
 * Shows every request that this process makes over HTTP/1.1 with the global `fetch` or `WebSocket`, or with an installed copy of
 * undici 6 or later: a channel for each origin, a subchannel for each address of it, a socket for each connection. A
 * connection that was there before shows with its next request. HTTP/2 is left to the observation of `node:http2`.
 *
 * A second call for the same registry shares the observation and its options. Throws a TypeError if another registry is filled
 * already.
 */
export function observeUndici(registry: Registry, options: ObserveUndiciOptions = {}): UndiciObservation {
  const stop = observation.join(registry, () => begin(registry, options.maxIdleChannels ?? 100));
  return { stop: () => stop("no longer observed") };
}

function begin(registry: Registry, maxIdleChannels: number): (reason: string) => void {
  const observer = new UndiciObserver(registry, maxIdleChannels);
  const { listeners } = observer;
  const subscriptions = Object.entries(listeners).map(
    ([name, listener]) =>
      [
        `undici:${name}`,
        guardListener(
          listener as (message: unknown) => void,
          "A request of undici is not shown in Channelz. Report its version with this message.",
        ),
      ] as const,
  );
  for (const [name, listener] of subscriptions) subscribe(name, listener);
  listenToChunks({
    sent: (request, chunk) => listeners["request:bodyChunkSent"]({ request, chunk }),
    received: (request, chunk) => listeners["request:bodyChunkReceived"]({ request, chunk }),
  });
  const stopClaims = onClaimed(hideConnection);
  return (reason) => {
    for (const [name, listener] of subscriptions) unsubscribe(name, listener);
    listenToChunks(undefined);
    stopClaims();
    observer.close(reason);
  };
}
