import type { ChannelHandle, Registry, SubchannelHandle } from "@wirescope/channelz";
import type { ConnectionFacts, TransportFacts, WireFacts } from "@wirescope/tool-server";
import { claimSocket } from "../claimed-sockets.js";
import { WeakList } from "../weak-list.js";
import { ObservedCalls } from "./observed-calls.js";
import { ObservedWire } from "./observed-wire.js";
import { wireSocket } from "./wire-socket.js";

/** What has ended, whoever observed it then: a late word of it must not bring it back. */
const ended = new WeakSet<object>();

/**
 * The connections, transports and wires of tool servers in one registry, each found by the facts of it, which are the same
 * object for its whole life. They are brought in as they open; what was there before, when it is first heard of.
 */
export class ToolServerObjects {
  readonly #registry: Registry;
  readonly #connections = new WeakMap<ConnectionFacts, ObservedCalls>();
  readonly #transports = new WeakMap<TransportFacts, ObservedCalls>();
  readonly #wires = new WeakMap<WireFacts, ObservedWire>();
  readonly #tops = new WeakList<ObservedCalls>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** The connection, or undefined where it had ended before it was ever shown. */
  connection(facts: ConnectionFacts): ObservedCalls | undefined {
    return this.#connections.get(facts) ?? this.openConnection(facts, "UNKNOWN");
  }

  /** The transport, or undefined where it or its connection had ended before it was ever shown. */
  transport(facts: TransportFacts): ObservedCalls | undefined {
    return this.#transports.get(facts) ?? this.openTransport(facts, "UNKNOWN");
  }

  /** The wire, or undefined where it or its transport had ended before it was ever shown. */
  wire(facts: WireFacts): ObservedWire | undefined {
    return this.#wires.get(facts) ?? this.openWire(facts);
  }

  /** The id of the channel that shows a connection; undefined where none does. */
  channelId(facts: ConnectionFacts): number | undefined {
    const connection = this.#connections.get(facts);
    return connection?.isClosed === false ? connection.handle.id : undefined;
  }

  openConnection(facts: ConnectionFacts, state: "IDLE" | "UNKNOWN"): ObservedCalls | undefined {
    const known = this.#connections.get(facts);
    if (known !== undefined || ended.has(facts)) return known;
    const handle = this.#registry.addChannel({ name: nameOf(facts), target: facts.target, state });
    traceAge(handle, state);
    handle.trace(`Signs in with ${facts.credential().summary}`);
    const connection = new ObservedCalls(handle, undefined);
    this.#connections.set(facts, connection);
    this.#tops.add(connection);
    return connection;
  }

  openTransport(facts: TransportFacts, state: "IDLE" | "UNKNOWN"): ObservedCalls | undefined {
    const known = this.#transports.get(facts);
    if (known !== undefined || ended.has(facts)) return known;
    const parent = this.connection(facts.connection);
    if (parent === undefined || parent.isClosed) return undefined;
    const handle = this.#registry.addSubchannel({ parent: parent.handle, target: facts.target, state });
    traceAge(handle, state);
    const transport = new ObservedCalls(handle, parent);
    this.#transports.set(facts, transport);
    return transport;
  }

  openWire(facts: WireFacts): ObservedWire | undefined {
    const known = this.#wires.get(facts);
    if (known !== undefined || ended.has(facts)) return known;
    const parent = this.transport(facts.transport);
    if (parent === undefined || parent.isClosed) return undefined;
    if (facts.kind === "socket") claimSocket(facts.socket);
    const handle = this.#registry.addSocket({ ...wireSocket(facts), parent: parent.handle });
    const wire = new ObservedWire(handle, parent);
    this.#wires.set(facts, wire);
    return wire;
  }

  /** Shows as ended what is shown of it. */
  end(facts: ConnectionFacts | TransportFacts | WireFacts, reason: string): void {
    ended.add(facts);
    this.#find(facts)?.end(reason);
  }

  /** Takes everything out of the registry. */
  close(reason: string): void {
    for (const connection of this.#tops) connection.close(reason);
  }

  #find(facts: ConnectionFacts | TransportFacts | WireFacts): ObservedCalls | ObservedWire | undefined {
    if ("transport" in facts) return this.#wires.get(facts);
    return "connection" in facts ? this.#transports.get(facts) : this.#connections.get(facts);
  }
}

function traceAge(handle: ChannelHandle | SubchannelHandle, state: "IDLE" | "UNKNOWN"): void {
  if (state === "UNKNOWN") handle.trace("It was there before it was observed; what it did until now is not known");
}

/** The entry's name, and the tenant where there are several. */
function nameOf({ name, tenant }: ConnectionFacts): string {
  const chosen = Object.entries(tenant).map(([variable, value]) => `${variable}=${value}`);
  return chosen.length === 0 ? name : `${name} (${chosen.join(", ")})`;
}
