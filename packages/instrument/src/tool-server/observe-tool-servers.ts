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

/** Where tool servers appear. */
export interface ObserveToolServersOptions {
  /** Where tool servers are shown. */
  readonly registry: Registry;
}

/** The observation of this process's tool servers. */
export interface ToolServersObservation {
  /** The id of the channel that shows a connection; undefined if none does, or not any more. */
  channelId(connection: ConnectionInfo): number | undefined;
  /** The id of the object that shows a connection, a transport or a socket, also after it closed; undefined if none does. */
  objectId(info: ConnectionInfo | TransportInfo | SocketInfo): number | undefined;
  /** Takes all tool servers out of the registry. From then on they cost no more than a check; they can be observed again. */
  stop(): void;
}

/** Credential operations are in the trace as well, and so is a failure to connect. */
type ShownChannelName = Exclude<ToolServerChannelName, `credential:${string}` | "transport:connecting">;

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
 * A second call for the same registry shares the observation, until the last has stopped.
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
      livingOf(logged)?.handle.trace(text, { severity });
    },
  };
}

/** The object that can still log: the last event often comes after its subject has closed, and then goes to the parent. */
function livingOf(logged: ObservedCalls | undefined): ObservedCalls | undefined {
  return logged?.isClosed ? logged.parent : logged;
}
