import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Registry } from "@wirescope/channelz";
import { onClaimed } from "../claimed-sockets.js";
import { SharedObservation } from "../observation.js";
import { guardUndici } from "./guard-undici.js";
import { listenToChunks } from "./patch-chunks.js";
import { hideConnection } from "./undici-connection.js";
import { UndiciObserver } from "./undici-observer.js";

/** How undici and `fetch` requests appear in Channelz. */
export interface ObserveUndiciOptions {
  /**
   * The maximum number of channels without a connection or request. Above that, the least recently used one is closed when an
   * origin is added. Default 100.
   */
  readonly maxIdleChannels?: number;
}

/** The observation of the undici requests of this process. */
export interface UndiciObservation {
  /** Stops showing requests and closes their channels. */
  stop(): void;
}

const observation = new SharedObservation("undici clients are");

/**
 * Shows every request that this process makes over HTTP/1.1 with the global `fetch` or `WebSocket`, or with an installed copy of
 * undici 6 or later: a channel for each origin, a subchannel for each of its addresses, a socket for each connection. An existing
 * connection appears with its next request. HTTP/2 requests are shown by observing `node:http2`.
 *
 * A second call with the same registry shares the observation and its options. Throws a TypeError if undici is observed in another
 * registry.
 */
export function observeUndici(registry: Registry, options: ObserveUndiciOptions = {}): UndiciObservation {
  const stop = observation.join(registry, () => begin(registry, options.maxIdleChannels ?? 100));
  return { stop: () => stop("no longer observed") };
}

function begin(registry: Registry, maxIdleChannels: number): (reason: string) => void {
  const observer = new UndiciObserver(registry, maxIdleChannels);
  const { listeners } = observer;
  const subscriptions = Object.entries(listeners).map(
    ([name, listener]) => [`undici:${name}`, guardUndici(listener as (message: unknown) => void)] as const,
  );
  for (const [name, listener] of subscriptions) subscribe(name, listener);
  listenToChunks({
    sent: guardUndici((request, chunk) => listeners["request:bodyChunkSent"]({ request, chunk })),
    received: guardUndici((request, chunk) => listeners["request:bodyChunkReceived"]({ request, chunk })),
  });
  const stopClaims = onClaimed(hideConnection);
  return (reason) => {
    for (const [name, listener] of subscriptions) unsubscribe(name, listener);
    listenToChunks(undefined);
    stopClaims();
    observer.close(reason);
  };
}
