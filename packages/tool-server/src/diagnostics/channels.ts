import { type Channel, channel } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { ToolServerError } from "../errors.js";
import type { CredentialEnding, CredentialOperation } from "./credential-operation.js";
import type { ConnectionFacts, ConnectivityState, TransportFacts, WireFacts } from "./facts.js";

/** That a connection or a transport is in another state now. */
export interface StateChange<Subject> {
  readonly subject: Subject;
  readonly state: ConnectivityState;
  /** Why, for people; redacted. */
  readonly reason: string | undefined;
  /** The failure that led there, if one did; redacted. */
  readonly failure?: ToolServerError | undefined;
}

/** That something has ended. */
export interface Ending<Subject> {
  readonly subject: Subject;
  /** Why, for people; redacted. */
  readonly reason: string;
}

/** Something to be told of a connection or a transport: a sign-in, a refusal, the run of a helper, the end of a child. */
export interface StoryEvent {
  readonly subject: ConnectionFacts | TransportFacts;
  readonly severity: "info" | "warning" | "error";
  /** For people; redacted. */
  readonly text: string;
}

/** What is published on each channel. */
export interface ToolServerMessages {
  "connection:opened": ConnectionFacts;
  "connection:state": StateChange<ConnectionFacts>;
  "connection:closed": Ending<ConnectionFacts>;
  /** A request of JSON-RPC was asked for, answered with a result, or not. */
  "connection:call-started": ConnectionFacts;
  "connection:call-succeeded": ConnectionFacts;
  "connection:call-failed": ConnectionFacts;
  "transport:opened": TransportFacts;
  "transport:state": StateChange<TransportFacts>;
  "transport:closed": Ending<TransportFacts>;
  "transport:call-started": TransportFacts;
  "transport:call-succeeded": TransportFacts;
  "transport:call-failed": TransportFacts;
  "wire:opened": WireFacts;
  "wire:closed": Ending<WireFacts>;
  /**
   * A stream begins with a request: of HTTP, or of JSON-RPC where all share one wire. It succeeded once its end was received:
   * the whole answer of HTTP, whatever its status, or the answer of JSON-RPC.
   */
  "wire:stream-started": WireFacts;
  "wire:stream-succeeded": WireFacts;
  "wire:stream-failed": WireFacts;
  /** A message of JSON-RPC. */
  "wire:message-sent": WireFacts;
  "wire:message-received": WireFacts;
  /** A ping of the wire itself, not of the protocol. */
  "wire:keep-alive-sent": WireFacts;
  /** A proxy is about to be asked for a tunnel over this socket, which is a wire only once the tunnel is there. */
  "proxy:asked": Socket;
  /**
   * Something is done for a credential: a refresh, a sign-in and its parts, the run of a helper. Stores that are bound to this
   * channel hold for all that is done in it.
   */
  "credential:started": CredentialOperation;
  "credential:ended": CredentialEnding;
  story: StoryEvent;
}

export type ToolServerChannelName = keyof ToolServerMessages;

/** What the names of all channels begin with. */
export const channelPrefix = "wirescope:tool-server:";

const names = {
  "connection:opened": true,
  "connection:state": true,
  "connection:closed": true,
  "connection:call-started": true,
  "connection:call-succeeded": true,
  "connection:call-failed": true,
  "transport:opened": true,
  "transport:state": true,
  "transport:closed": true,
  "transport:call-started": true,
  "transport:call-succeeded": true,
  "transport:call-failed": true,
  "wire:opened": true,
  "wire:closed": true,
  "wire:stream-started": true,
  "wire:stream-succeeded": true,
  "wire:stream-failed": true,
  "wire:message-sent": true,
  "wire:message-received": true,
  "wire:keep-alive-sent": true,
  "proxy:asked": true,
  "credential:started": true,
  "credential:ended": true,
  story: true,
} as const satisfies Record<ToolServerChannelName, true>;

/**
 * The channels of `node:diagnostics_channel` on which tool servers say what happens, by name without the prefix. Payloads
 * are the facts themselves wherever that is enough, so that what is counted allocates nothing.
 */
export const channels = Object.fromEntries(
  Object.keys(names).map((name) => [name, channel(`${channelPrefix}${name}`)]),
) as Readonly<Record<ToolServerChannelName, Channel>>;

/** Publishes, where anybody listens. */
export function publish<Name extends ToolServerChannelName>(name: Name, message: ToolServerMessages[Name]): void {
  const found = channels[name];
  if (found.hasSubscribers) found.publish(message);
}

/**
 * Publishes on one channel, where anybody listens: for what happens with every call. To look a channel up by its name each time
 * took longer than to publish on it.
 */
export function publisherOf<Name extends ToolServerChannelName>(
  name: Name,
): (message: ToolServerMessages[Name]) => void {
  const found = channels[name];
  return (message) => {
    if (found.hasSubscribers) found.publish(message);
  };
}
