import type { Registry } from "@wirescope/channelz";
import { SharedObservation } from "../observation.js";
import { ClientChannel } from "./client-channel.js";
import { Origins } from "./origins.js";
import { findChannelsWith, patchClients } from "./patch-clients.js";

/** How the requests of `node:http` appear in Channelz. */
export interface ObserveHttpClientsOptions {
  /**
   * How many channels are kept whose origin has neither a connection nor a call; beyond that, the one that was used
   * longest ago is closed when the next origin comes. Default 100.
   */
  readonly maxIdleChannels?: number;
}

/** The observation of this process's requests. */
export interface HttpClientsObservation {
  /** Stops showing requests and closes their channels. A request then costs only a check. */
  stop(): void;
}

const observation = new SharedObservation("The clients of node:http are");

/**
 * Shows every request that this process makes with `node:http` or `node:https` from now on, and whatever is built on these: a
 * channel for each origin, a subchannel for each address of it, a socket for each connection. A connection that was there
 * before shows with its next request.
 *
 * A second call for the same registry shares the observation, and its options. Throws a TypeError if another registry
 * is filled already, for a request is shown in one.
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
