import type { StampClock } from "./clock.js";
import { type CounterRow, CounterSlab } from "./counter-slab.js";
import { Graveyard } from "./graveyard.js";
import { IdIndex } from "./id-index.js";
import { childChannels, unlinkRecords } from "./links.js";
import { OrderedTable } from "./ordered-table.js";
import {
  type AnyRecord,
  ChannelRecord,
  callRowWidth,
  type Kind,
  nameRecord,
  ServerRecord,
  SocketRecord,
  socketRowWidth,
  type TraceSeverity,
} from "./records.js";
import { type TraceBounds, TraceLog } from "./trace-log.js";

/** The row for handles of removed objects; its counts are never read. */
const sink: CounterRow = { cells: new Float64Array(32), at: 1 };

/** The number of live objects of each kind, of closed ones that are still remembered, and of trace events. */
export interface RegistrySize {
  readonly channels: number;
  readonly subchannels: number;
  readonly servers: number;
  readonly sockets: number;
  readonly closed: number;
  readonly traceEvents: number;
  readonly traceBytes: number;
}

/**
 * All records of a registry, and their life cycle: live, closed (in the graveyard, or still referred to by a trace), gone.
 */
export class Store {
  readonly clock: StampClock;
  /** `clock.stamp`, one look-up less for each count. */
  readonly stamp: StampClock["stamp"];
  readonly all: IdIndex<AnyRecord> = new IdIndex();
  readonly topChannels: OrderedTable<ChannelRecord> = new OrderedTable();
  readonly servers: OrderedTable<ServerRecord> = new OrderedTable();

  readonly #callSlab = new CounterSlab(callRowWidth);
  readonly #streamSlab = new CounterSlab(socketRowWidth);
  readonly #traces: TraceLog;
  readonly #graves: Record<Exclude<Kind, "socket">, Graveyard<ChannelRecord | ServerRecord>>;
  readonly #live: Record<Exclude<Kind, "socket">, number> = { channel: 0, subchannel: 0, server: 0 };
  // Separate, because sockets are created most often and need no lookup by kind.
  readonly #socketGraves: Graveyard<SocketRecord>;
  #liveSockets = 0;
  /** A queue instead of recursion: removing a record can release the next, in chains of any length. */
  readonly #toForget: (ChannelRecord | ServerRecord)[] = [];
  #isForgetting = false;
  #lastId = 0;

  constructor(clock: StampClock, traceBounds: TraceBounds, maxClosed: number) {
    this.clock = clock;
    this.stamp = clock.stamp;
    this.#traces = new TraceLog(traceBounds, (child) => {
      if (child.lifecycle === "closed" && !child.isBuried) this.#forget(child);
    });
    this.#graves = {
      channel: new Graveyard(maxClosed),
      subchannel: new Graveyard(maxClosed),
      server: new Graveyard(maxClosed),
    };
    this.#socketGraves = new Graveyard(maxClosed);
  }

  get size(): RegistrySize {
    const { channel, subchannel, server } = this.#live;
    const socket = this.#liveSockets;
    const { events, bytes } = this.#traces.size;
    return {
      channels: channel,
      subchannels: subchannel,
      servers: server,
      sockets: socket,
      closed: this.all.size - channel - subchannel - server - socket,
      traceEvents: events,
      traceBytes: bytes,
    };
  }

  /** All kinds share one ascending sequence of ids, which are never reused. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  add(record: ChannelRecord | ServerRecord): void {
    this.all.add(record);
    this.#live[record.kind] += 1;
  }

  addSocket(record: SocketRecord): void {
    this.all.add(record);
    this.#liveSockets += 1;
  }

  /**
   * Logs an event in the trace of an object, unless it is closed. Events with the same key repeat each other. `timeMs` is when it
   * happened, if not now.
   */
  log(
    record: ChannelRecord | ServerRecord,
    severity: TraceSeverity,
    description: string,
    child?: ChannelRecord,
    key?: string,
    timeMs?: number,
  ): void {
    if (record.lifecycle !== "live") return;
    const owner = record instanceof ChannelRecord ? record : undefined;
    const now = this.clock.now();
    const isPast = timeMs !== undefined && timeMs < now;
    this.#traces.add(owner, record.trace, isPast ? timeMs : now, severity, description, child, key, isPast);
  }

  /** Logs an event of a child in its parent's trace. The same event of a later child with the same target, or of any socket, repeats it. */
  logChild(
    parent: ChannelRecord | ServerRecord,
    severity: TraceSeverity,
    verb: string,
    child: ChannelRecord | SocketRecord,
    reason = "",
  ): void {
    const because = becauseOf(reason);
    const ref = child instanceof ChannelRecord ? child : undefined;
    // The name of a socket is often its address, which is unique.
    const like = ref === undefined ? "socket" : `${ref.kind} ${ref.name} ${ref.target}`;
    this.log(parent, severity, `${verb} ${nameRecord(child)}${because}`, ref, `${verb} ${like}${because}`);
  }

  /** Allocates the counters of a record, on first use. */
  claimRow(record: AnyRecord): void {
    (record instanceof SocketRecord ? this.#streamSlab : this.#callSlab).claim(record);
  }

  /** Closes an object: removes it from the lists and its parents, and puts it into the graveyard. */
  close(record: AnyRecord, reason: string, severity: TraceSeverity): void {
    if (record instanceof SocketRecord) {
      this.closeSocket(record, reason, severity);
      return;
    }
    if (record.lifecycle !== "live") return;
    if (record instanceof ChannelRecord) this.#detachChannel(record, reason, severity);
    else this.#detachServer(record, reason, severity);
    record.lifecycle = "closed";
    this.#live[record.kind] -= 1;
    this.#bury(record);
  }

  closeSocket(record: SocketRecord, reason: string, severity: TraceSeverity): void {
    const { owner } = record;
    if (owner === null) return;
    // A socket has no trace, so the reason is logged in that of its owner.
    if (owner !== undefined && reason !== "") this.logChild(owner, severity, "Closed", record, reason);
    const wasConnection = owner?.sockets?.delete(record.id);
    if (wasConnection === false && owner instanceof ServerRecord) owner.listenSockets.delete(record.id);
    record.close();
    this.#liveSockets -= 1;
    const evicted = this.#socketGraves.bury(record);
    if (evicted !== undefined) this.#erase(evicted, this.#streamSlab);
  }

  #detachChannel(record: ChannelRecord, reason: string, severity: TraceSeverity): void {
    if (record.isTop) this.topChannels.delete(record.id);
    for (const socket of [...(record.sockets ?? [])]) unlinkRecords(record, socket);
    for (const child of [...childChannels(record)]) unlinkRecords(record, child);
    for (const parent of [...record.parents]) {
      unlinkRecords(parent, record);
      this.logChild(parent, severity, "Closed", record, reason);
    }
    const before = record.state;
    record.state = "SHUTDOWN";
    this.log(
      record,
      severity,
      `${before === "SHUTDOWN" ? "Closed" : `${before} -> SHUTDOWN, closed`}${becauseOf(reason)}`,
    );
  }

  #detachServer(record: ServerRecord, reason: string, severity: TraceSeverity): void {
    this.servers.delete(record.id);
    for (const socket of [...record.listenSockets]) this.close(socket, "", severity);
    for (const socket of [...record.sockets]) {
      socket.owner = undefined;
      record.sockets.delete(socket.id);
    }
    this.log(record, severity, `Closed${becauseOf(reason)}`);
  }

  #bury(record: ChannelRecord | ServerRecord): void {
    if (record instanceof ChannelRecord) record.isBuried = true;
    const evicted = this.#graves[record.kind].bury(record);
    if (evicted === undefined) return;
    if (evicted instanceof ChannelRecord) {
      evicted.isBuried = false;
      if (evicted.retainedBy > 0) return;
    }
    this.#forget(evicted);
  }

  #forget(record: ChannelRecord | ServerRecord): void {
    this.#toForget.push(record);
    if (this.#isForgetting) return;
    this.#isForgetting = true;
    for (let next = this.#toForget.pop(); next !== undefined; next = this.#toForget.pop()) {
      next.lifecycle = "gone";
      this.#erase(next, this.#callSlab);
      this.#traces.clear(next.trace);
    }
    this.#isForgetting = false;
  }

  /** Removes a record from the index, and frees its row. Later counts of its handle are discarded. */
  #erase(record: AnyRecord, slab: CounterSlab): void {
    this.all.delete(record.id);
    slab.release(record);
    record.cells = sink.cells;
    record.at = sink.at;
  }
}

function becauseOf(reason: string): string {
  return reason === "" ? "" : `: ${reason}`;
}
