import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Registry } from "@wirescope/channelz";
import type { ConnectionFacts, ToolServerChannelName, ToolServerMessages } from "@wirescope/tool-server";
import { claimSocket } from "../claimed-sockets.js";
import { guardListener } from "../guard-listener.js";
import { SharedObservation } from "../shared-observation.js";
import type { ObservedCalls } from "./observed-calls.js";
import { ToolServerObjects } from "./tool-server-objects.js";

export interface ObserveToolServersOptions {
  /** Where tool servers are shown. */
  readonly registry: Registry;
}

/** The observation of this process's tool servers. */
export interface ToolServersObservation {
  /** The id of the channel that shows a connection; undefined where none does, or does any more. */
  channelId(connection: ConnectionFacts): number | undefined;
  /** Takes all tool servers out of the registry. From then on they cost no more than a check; they can be observed again. */
  stop(): void;
}

/** What is done for credentials stands in stories as well, in words. */
type ShownChannelName = Exclude<ToolServerChannelName, `credential:${string}`>;

/** One for each channel, so that a channel which is forgotten does not compile. */
type Listeners = { readonly [Name in ShownChannelName]: (message: ToolServerMessages[Name]) => void };

const notShown =
  "Something of a tool server is not shown in Channelz. Are @wirescope/tool-server and @wirescope/instrument of one version?";

const channelPrefix = "wirescope:tool-server:";

/** Tool servers may be shown in several registries, but in each once. */
const observations = new WeakMap<Registry, SharedObservation>();
const shown = new WeakMap<Registry, ToolServerObjects>();

/**
 * Shows the tool servers of this process from now on: each connection as a channel, each of its transports as a subchannel,
 * each socket or child process as a socket. What was there before shows as soon as something happens to it, in the state
 * UNKNOWN until it changes.
 *
 * Who asks again for the same registry shares the observation, until the last has stopped.
 */
export function observeToolServers({ registry }: ObserveToolServersOptions): ToolServersObservation {
  const observation = observations.get(registry) ?? new SharedObservation("Tool servers are");
  observations.set(registry, observation);
  const stop = observation.join(registry, () => listen(registry));
  return {
    channelId: (connection) => shown.get(registry)?.channelId(connection),
    stop: () => stop("no longer observed"),
  };
}

/** Listens on all channels; returns how to end that. */
function listen(registry: Registry): (reason: string) => void {
  const objects = new ToolServerObjects(registry);
  shown.set(registry, objects);
  const subscriptions = Object.entries(listenersOf(objects)).map(
    ([name, listener]) =>
      [`${channelPrefix}${name}`, guardListener(listener as (message: unknown) => void, notShown)] as const,
  );
  for (const [name, listener] of subscriptions) subscribe(name, listener);
  return (reason) => {
    for (const [name, listener] of subscriptions) unsubscribe(name, listener);
    shown.delete(registry);
    objects.close(reason);
  };
}

function listenersOf(objects: ToolServerObjects): Listeners {
  return {
    "connection:opened": (facts) => void objects.openConnection(facts, "IDLE"),
    "connection:state": ({ subject, state, reason }) => objects.connection(subject)?.handle.setState(state, reason),
    "connection:closed": ({ subject, reason }) => objects.end(subject, reason),
    "connection:call-started": (facts) => objects.connection(facts)?.callStarted(),
    "connection:call-succeeded": (facts) => objects.connection(facts)?.callSucceeded(),
    "connection:call-failed": (facts) => objects.connection(facts)?.callFailed(),
    "transport:opened": (facts) => void objects.openTransport(facts, "IDLE"),
    "transport:state": ({ subject, state, reason }) => objects.transport(subject)?.handle.setState(state, reason),
    "transport:closed": ({ subject, reason }) => objects.end(subject, reason),
    "transport:call-started": (facts) => objects.transport(facts)?.callStarted(),
    "transport:call-succeeded": (facts) => objects.transport(facts)?.callSucceeded(),
    "transport:call-failed": (facts) => objects.transport(facts)?.callFailed(),
    "wire:opened": (facts) => void objects.openWire(facts),
    "wire:closed": ({ subject, reason }) => objects.end(subject, reason),
    "wire:stream-started": (facts) => objects.wire(facts)?.streamStarted(),
    "wire:stream-succeeded": (facts) => objects.wire(facts)?.streamSucceeded(),
    "wire:stream-failed": (facts) => objects.wire(facts)?.streamFailed(),
    "wire:message-sent": (facts) => objects.wire(facts)?.handle.messageSent(),
    "wire:message-received": (facts) => objects.wire(facts)?.handle.messageReceived(),
    "wire:keep-alive-sent": (facts) => objects.wire(facts)?.handle.keepAliveSent(),
    "proxy:asked": claimSocket,
    story: ({ subject, severity, text }) => {
      const told = "connection" in subject ? objects.transport(subject) : objects.connection(subject);
      livingOf(told)?.handle.trace(text, { severity });
    },
  };
}

/** What can still log: the last of a story often comes when its subject has closed, and then goes to what stands above. */
function livingOf(told: ObservedCalls | undefined): ObservedCalls | undefined {
  return told?.isClosed ? told.parent : told;
}
