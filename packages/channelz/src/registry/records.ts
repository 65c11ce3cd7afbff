import type { ConnectivityState } from "./connectivity.js";
import { type CounterRow, CounterSlab } from "./counter-slab.js";
import type { OrderedTable } from "./ordered-table.js";
import type { SocketDescriber, SocketEndpoints } from "./socket-details.js";

/**
 * The kinds of objects. The registry's record of an object refers neither to its handle nor, except weakly, to the application's
 * objects, so that whatever the application drops can be garbage-collected.
 */
export type Kind = "channel" | "subchannel" | "server" | "socket";

/** `live`: listed. `closed`: no longer listed, still found by its id. `gone`: forgotten. */
export type Lifecycle = "live" | "closed" | "gone";

/** The counters of a channel, subchannel or server, as offsets into its row. */
export const callsStarted = 0;
export const callsSucceeded = 1;
export const callsFailed = 2;
export const lastCallStarted = 3;
export const callRowWidth = 4;

/** The counters of a socket, as offsets into its row. */
export const streamsStarted = 0;
export const streamsSucceeded = 1;
export const streamsFailed = 2;
export const messagesSent = 3;
export const messagesReceived = 4;
export const keepAlivesSent = 5;
export const lastLocalStream = 6;
export const lastRemoteStream = 7;
export const lastMessageSent = 8;
export const lastMessageReceived = 9;
export const socketRowWidth = 10;

/** The severity of a trace event. */
export type TraceSeverity = "unknown" | "info" | "warning" | "error";

export interface TraceEvent {
  readonly trace: Trace;
  readonly description: string;
  readonly severity: TraceSeverity;
  readonly time: number;
  readonly child: ChannelRecord | undefined;
  /** Equal for events that repeat each other. */
  readonly key: string;
  /** The number of repetitions since the first occurrence, which is a separate event with 0. */
  readonly repetitions: number;
  /** Whether the event keeps its child from being removed. */
  readonly retainsChild: boolean;
  older: TraceEvent | undefined;
  newer: TraceEvent | undefined;
}

/** The recent events of one object. */
export class Trace {
  readonly createdAt: number;
  /** The number of events ever logged. */
  logged = 0;
  /** The events that are kept, oldest first. */
  readonly events: TraceEvent[] = [];

  constructor(createdAt: number) {
    this.createdAt = createdAt;
  }
}

/** A channel or a subchannel, which differ only in their kind. */
export class ChannelRecord implements CounterRow {
  readonly id: number;
  readonly kind: "channel" | "subchannel";
  readonly name: string;
  readonly target: string;
  readonly trace: Trace;
  lifecycle: Lifecycle = "live";
  state: ConnectivityState = "IDLE";
  cells: Float64Array = CounterSlab.none;
  at = 0;
  /** Whether the application created it directly, so that GetTopChannels lists it. Never changes. */
  readonly isTop: boolean;
  /** The number of trace events of other objects that keep it from being removed. */
  retainedBy = 0;
  /** Whether it is in the graveyard. */
  isBuried = false;
  parents: ChannelRecord[] = [];
  channels: OrderedTable<ChannelRecord> | undefined = undefined;
  subchannels: OrderedTable<ChannelRecord> | undefined = undefined;
  sockets: OrderedTable<SocketRecord> | undefined = undefined;

  constructor(id: number, kind: "channel" | "subchannel", name: string, target: string, isTop: boolean, trace: Trace) {
    this.id = id;
    this.kind = kind;
    this.name = name;
    this.target = target;
    this.isTop = isTop;
    this.trace = trace;
  }
}

export class ServerRecord implements CounterRow {
  readonly id: number;
  readonly name: string;
  readonly trace: Trace;
  lifecycle: Lifecycle = "live";
  cells: Float64Array = CounterSlab.none;
  at = 0;
  readonly listenSockets: OrderedTable<SocketRecord>;
  readonly sockets: OrderedTable<SocketRecord>;

  constructor(
    id: number,
    name: string,
    trace: Trace,
    listenSockets: OrderedTable<SocketRecord>,
    sockets: OrderedTable<SocketRecord>,
  ) {
    this.id = id;
    this.name = name;
    this.trace = trace;
    this.listenSockets = listenSockets;
    this.sockets = sockets;
  }

  get kind(): "server" {
    return "server";
  }
}

// The fields are only declared, here and in the handle, so that each is written once, by the constructor: sockets are created most
// often.
export class SocketRecord implements CounterRow {
  declare readonly id: number;
  declare readonly name: string;
  declare endpoints: SocketEndpoints | undefined;
  declare readonly describe: SocketDescriber<object> | undefined;
  /** The argument of the describer: held strongly while the socket is new, then weakly, and not after it closed. */
  #subject: object | WeakRef<object> | undefined;
  declare cells: Float64Array;
  declare at: number;
  /** The channel, subchannel or server it belongs to, if there is one; null once the socket closed. */
  declare owner: ChannelRecord | ServerRecord | undefined | null;

  constructor(
    id: number,
    name: string,
    endpoints: SocketEndpoints | undefined,
    describe: SocketDescriber<object> | undefined,
    subject: object | undefined,
  ) {
    this.id = id;
    this.name = name;
    this.endpoints = endpoints;
    this.describe = describe;
    this.#subject = subject;
    this.cells = CounterSlab.none;
    this.at = 0;
    this.owner = undefined;
  }

  get kind(): "socket" {
    return "socket";
  }

  get lifecycle(): Lifecycle {
    return this.owner === null ? "closed" : "live";
  }

  get subject(): object | undefined {
    return this.#subject instanceof WeakRef ? this.#subject.deref() : this.#subject;
  }

  holdSubjectWeakly(): void {
    if (this.#subject !== undefined) this.#subject = new WeakRef(this.#subject);
  }

  close(): void {
    this.owner = null;
    this.#subject = undefined;
  }
}

export type AnyRecord = ChannelRecord | ServerRecord | SocketRecord;

/** An object in errors and trace events: its kind and id, and its name or target if it has one. */
export function nameRecord(record: AnyRecord): string {
  const label = record.name !== "" ? record.name : record instanceof ChannelRecord ? record.target : "";
  return label === "" ? `${record.kind} ${record.id}` : `${record.kind} ${record.id} (${label})`;
}
