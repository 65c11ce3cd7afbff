import type { ChannelHandle, Registry, SubchannelHandle } from "@wirescope/channelz";
import type { ConnectionInfo, SocketInfo, TransportInfo } from "@wirescope/tool-server";
import { claimSocket } from "../claimed-sockets.js";
import { WeakList } from "../weak-list.js";
import { ObservedCalls } from "./observed-calls.js";
import { ObservedSocket, socketInit } from "./observed-socket.js";

/** Objects that have ended, shared by all observations: a late event must not show them again. */
const ended = new WeakSet<object>();

/**
 * The connections, transports and sockets of tool servers in one registry, found by their info objects, which stay the same.
 * They are added when they open, or at the first event if they existed before.
 */
export class ToolServerObjects {
  readonly #registry: Registry;
  readonly #connections = new WeakMap<ConnectionInfo, ObservedCalls>();
  readonly #transports = new WeakMap<TransportInfo, ObservedCalls>();
  readonly #sockets = new WeakMap<SocketInfo, ObservedSocket>();
  readonly #topChannels = new WeakList<ObservedCalls>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** The connection, or undefined if it ended before it was shown. */
  connection(info: ConnectionInfo): ObservedCalls | undefined {
    return this.#connections.get(info) ?? this.openConnection(info, "UNKNOWN");
  }

  /** The transport, or undefined if it or its connection ended before it was shown. */
  transport(info: TransportInfo): ObservedCalls | undefined {
    return this.#transports.get(info) ?? this.openTransport(info, "UNKNOWN");
  }

  /** The socket, or undefined if it or its transport ended before it was shown. */
  socket(info: SocketInfo): ObservedSocket | undefined {
    return this.#sockets.get(info) ?? this.openSocket(info);
  }

  /** The id of the channel that shows a connection; undefined if it is not shown or its channel is closed. */
  channelId(info: ConnectionInfo): number | undefined {
    const connection = this.#connections.get(info);
    return connection?.isClosed === false ? connection.handle.id : undefined;
  }

  /** The id of the object that shows it, even if it is closed; undefined if it was never shown. */
  objectId(info: ConnectionInfo | TransportInfo | SocketInfo): number | undefined {
    return this.#find(info)?.handle.id;
  }

  openConnection(info: ConnectionInfo, state: "IDLE" | "UNKNOWN"): ObservedCalls | undefined {
    const known = this.#connections.get(info);
    if (known !== undefined || ended.has(info)) return known;
    const handle = this.#registry.addChannel({ name: nameOf(info), target: info.target, state });
    traceIfExisting(handle, state);
    handle.trace(`Authentication: ${info.credential().summary}`);
    const connection = new ObservedCalls(handle, undefined);
    this.#connections.set(info, connection);
    this.#topChannels.add(connection);
    return connection;
  }

  openTransport(info: TransportInfo, state: "IDLE" | "UNKNOWN"): ObservedCalls | undefined {
    const known = this.#transports.get(info);
    if (known !== undefined || ended.has(info)) return known;
    const parent = this.connection(info.connection);
    if (parent === undefined || parent.isClosed) return undefined;
    const handle = this.#registry.addSubchannel({ parent: parent.handle, target: info.target, state });
    traceIfExisting(handle, state);
    const transport = new ObservedCalls(handle, parent);
    this.#transports.set(info, transport);
    return transport;
  }

  openSocket(info: SocketInfo): ObservedSocket | undefined {
    const known = this.#sockets.get(info);
    if (known !== undefined || ended.has(info)) return known;
    const parent = this.transport(info.transport);
    if (parent === undefined || parent.isClosed) return undefined;
    if (info.kind === "socket") claimSocket(info.socket);
    const handle = this.#registry.addSocket({ ...socketInit(info), parent: parent.handle });
    const socket = new ObservedSocket(handle, parent);
    this.#sockets.set(info, socket);
    return socket;
  }

  /** Marks an object as ended, if it is shown. */
  end(info: ConnectionInfo | TransportInfo | SocketInfo, reason: string): void {
    ended.add(info);
    this.#find(info)?.end(reason);
  }

  /** Removes everything from the registry. */
  close(reason: string): void {
    for (const connection of this.#topChannels) connection.close(reason);
  }

  #find(info: ConnectionInfo | TransportInfo | SocketInfo): ObservedCalls | ObservedSocket | undefined {
    if ("transport" in info) return this.#sockets.get(info);
    return "connection" in info ? this.#transports.get(info) : this.#connections.get(info);
  }
}

function traceIfExisting(handle: ChannelHandle | SubchannelHandle, state: "IDLE" | "UNKNOWN"): void {
  if (state === "UNKNOWN") handle.trace("Existed before the observation; earlier events are unknown");
}

/** The name of the entry, with its tenant if it has one. */
function nameOf({ name, tenant }: ConnectionInfo): string {
  const chosen = Object.entries(tenant).map(([variable, value]) => `${variable}=${value}`);
  return chosen.length === 0 ? name : `${name} (${chosen.join(", ")})`;
}
