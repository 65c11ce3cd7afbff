import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Registry } from "@wirescope/channelz";
import type {
  ConnectionInfo,
  SocketInfo,
  ToolServerChannelName,
  ToolServerMessages,
  TransportInfo,
} from "@wirescope/tool-server";
import { claimSocket } from "../claimed-sockets.js";
import { guardListener } from "../guard-listener.js";
import { SharedObservation } from "../observation.js";
import type { ObservedCalls } from "./observed-calls.js";
import { ToolServerObjects } from "./tool-server-objects.js";

/** How tool servers appear in Channelz. */
export interface ObserveToolServersOptions {
  /** The registry in which tool servers are shown. */
  readonly registry: Registry;
}

/** The observation of the tool servers of this process. */
export interface ToolServersObservation {
  /** The id of the channel that shows a connection; undefined if it is not shown or its channel is closed. */
  channelId(connection: ConnectionInfo): number | undefined;
  /** The id of the object that shows a connection, transport or socket, even if it is closed; undefined if it was never shown. */
  objectId(info: ConnectionInfo | TransportInfo | SocketInfo): number | undefined;
  /** Removes all tool servers from the registry. The remaining overhead is a check; they can be observed again. */
  stop(): void;
}

/** The other channels are not needed: credential operations and connection failures are also published as trace events. */
type ShownChannelName = Exclude<ToolServerChannelName, `credential:${string}` | "transport:connecting">;

/** One listener for each channel, so that a missing one is a compile error. */
type Listeners = { readonly [Name in ShownChannelName]: (message: ToolServerMessages[Name]) => void };

const notShown =
  "A tool server event is not shown in Channelz. Check that @wirescope/tool-server and @wirescope/instrument have the same version.";

const channelPrefix = "wirescope:tool-server:";

/** One per registry, because tool servers may be shown in several registries. */
const observations = new WeakMap<Registry, SharedObservation>();
const shown = new WeakMap<Registry, ToolServerObjects>();

/**
 * Shows the tool servers of this process from now on: each connection as a channel, each of its transports as a subchannel, each
 * socket or child process as a socket. Existing objects appear with their next event, in the state UNKNOWN until it changes.
 *
 * A second call with the same registry shares the observation, until the last has stopped.
 */
export function observeToolServers({ registry }: ObserveToolServersOptions): ToolServersObservation {
  const observation = observations.get(registry) ?? new SharedObservation("Tool servers are");
  observations.set(registry, observation);
  const stop = observation.join(registry, () => listen(registry));
  return {
    channelId: (connection) => shown.get(registry)?.channelId(connection),
    objectId: (info) => shown.get(registry)?.objectId(info),
    stop: () => stop("no longer observed"),
  };
}

/** Subscribes to all channels. Returns an unsubscribe function. */
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
    "connection:opened": (info) => void objects.openConnection(info, "IDLE"),
    "connection:state": ({ subject, state, reason }) => objects.connection(subject)?.handle.setState(state, reason),
    "connection:closed": ({ subject, reason }) => objects.end(subject, reason),
    "connection:call-started": (info) => objects.connection(info)?.callStarted(),
    "connection:call-succeeded": (info) => objects.connection(info)?.callSucceeded(),
    "connection:call-failed": (info) => objects.connection(info)?.callFailed(),
    "transport:opened": (info) => void objects.openTransport(info, "IDLE"),
    "transport:state": ({ subject, state, reason }) => objects.transport(subject)?.handle.setState(state, reason),
    "transport:closed": ({ subject, reason }) => objects.end(subject, reason),
    "transport:call-started": (info) => objects.transport(info)?.callStarted(),
    "transport:call-succeeded": (info) => objects.transport(info)?.callSucceeded(),
    "transport:call-failed": (info) => objects.transport(info)?.callFailed(),
    "socket:opened": (info) => void objects.openSocket(info),
    "socket:closed": ({ subject, reason }) => objects.end(subject, reason),
    "socket:stream-started": (info) => objects.socket(info)?.streamStarted(),
    "socket:stream-succeeded": (info) => objects.socket(info)?.streamSucceeded(),
    "socket:stream-failed": (info) => objects.socket(info)?.streamFailed(),
    "socket:message-sent": (info) => objects.socket(info)?.handle.messageSent(),
    "socket:message-received": (info) => objects.socket(info)?.handle.messageReceived(),
    "socket:keep-alive-sent": (info) => objects.socket(info)?.handle.keepAliveSent(),
    "proxy:tunnel-requested": claimSocket,
    trace: ({ subject, severity, text }) => {
      const logged = "connection" in subject ? objects.transport(subject) : objects.connection(subject);
      openOrParent(logged)?.handle.trace(text, { severity });
    },
  };
}

/** The object, or its parent if it is closed: the last trace event often arrives after its subject has closed. */
function openOrParent(logged: ObservedCalls | undefined): ObservedCalls | undefined {
  return logged?.isClosed ? logged.parent : logged;
}
