import type { Registry } from "@wirescope/channelz";
import { SharedObservation } from "../observation.js";
import { ClientChannel } from "./client-channel.js";
import { Origins } from "./origins.js";
import { findChannelsWith, patchClients } from "./patch-clients.js";

/** How `node:http` requests appear in Channelz. */
export interface ObserveHttpClientsOptions {
  /**
   * The maximum number of channels without a connection or call. Above that, the least recently used one is closed when an origin
   * is added. Default 100.
   */
  readonly maxIdleChannels?: number;
}

/** The observation of the requests of this process. */
export interface HttpClientsObservation {
  /** Stops showing requests and closes their channels. The remaining overhead per request is a check. */
  stop(): void;
}

const observation = new SharedObservation("node:http clients are");

/**
 * Shows every request that this process makes from now on with `node:http`, `node:https`, or a library that uses them: a channel
 * for each origin, a subchannel for each of its addresses, a socket for each connection. An existing connection appears with its
 * next request.
 *
 * A second call with the same registry shares the observation and its options. Throws a TypeError if requests are observed in
 * another registry.
 */
export function observeHttpClients(
  registry: Registry,
  options: ObserveHttpClientsOptions = {},
): HttpClientsObservation {
  const stop = observation.join(registry, () => {
    patchClients();
    const origins = new Origins(
      options.maxIdleChannels ?? 100,
      (target) => new ClientChannel(registry, registry.addChannel({ target }), target, true),
    );
    findChannelsWith(origins.find);
    return (reason) => {
      findChannelsWith(undefined);
      origins.close(reason);
    };
  });
  return { stop: () => stop("no longer observed") };
}
