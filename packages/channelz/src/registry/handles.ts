import { ChannelzError } from "../errors.js";
import { type ConnectivityState, checkState, isExpectedTransition } from "./connectivity.js";
import { linkChannel, linkSocket, unlinkRecords } from "./links.js";
import {
  ChannelRecord,
  callsFailed,
  callsStarted,
  callsSucceeded,
  keepAlivesSent,
  lastCallStarted,
  lastLocalStream,
  lastMessageReceived,
  lastMessageSent,
  lastRemoteStream,
  messagesReceived,
  messagesSent,
  nameRecord,
  type ServerRecord,
  type SocketRecord,
  streamsFailed,
  streamsStarted,
  streamsSucceeded,
  type TraceSeverity,
} from "./records.js";
import type { Store } from "./store.js";
import { severityNumbers } from "./trace-log.js";

/** The fields of a trace event in addition to its text. */
export interface TraceOptions {
  /** Default "info". */
  readonly severity?: TraceSeverity;
  /** The child that the event is about. It can be looked up for as long as the event is kept. */
  readonly child?: ChannelHandle | SubchannelHandle;
  /**
   * When it happened, in milliseconds since the epoch. Default: now, which also replaces a time in the future. A past event is
   * inserted before later events.
   */
  readonly timeMs?: number;
}

// The application holds the handles. The registry does not refer to them, so it can detect when one was dropped. They count
// directly in the row of the record, without allocations or lookups.

abstract class CallCounter<R extends ChannelRecord | ServerRecord> {
  /** @internal */
  readonly store: Store;
  /** @internal */
  readonly record: R;

  /** @internal */
  constructor(store: Store, record: R) {
    this.store = store;
    this.record = record;
  }

  /** Unique in the process, across all kinds; positive. */
  get id(): number {
    return this.record.id;
  }

  /** Whether it was closed. */
  get isClosed(): boolean {
    return this.record.lifecycle !== "live";
  }

  /** Counts a call that begins. */
  callStarted(): void {
    const { record, store } = this;
    if (record.at === 0) store.claimRow(record);
    const { cells, at } = record;
    cells[at + callsStarted]! += 1;
    store.stamp(cells, at + lastCallStarted);
  }

  /** Counts a call that ended with the status OK. */
  callSucceeded(): void {
    const { record } = this;
    if (record.at === 0) this.store.claimRow(record);
    record.cells[record.at + callsSucceeded]! += 1;
  }

  /** Counts a call that ended with any other status. */
  callFailed(): void {
    const { record } = this;
    if (record.at === 0) this.store.claimRow(record);
    record.cells[record.at + callsFailed]! += 1;
  }

  /** Logs an event. No effect after close. */
  trace(description: string, options?: TraceOptions): void {
    const { severity = "info", child, timeMs } = options ?? {};
    if (!Object.hasOwn(severityNumbers, severity)) {
      throw new TypeError(
        `severity must be one of ${Object.keys(severityNumbers).join(", ")}, not ${String(severity)}.`,
      );
    }
    if (child !== undefined && child.store !== this.store) {
      throw new TypeError(`An event of ${nameRecord(this.record)} cannot refer to a child of another registry.`);
    }
    if (timeMs !== undefined && !Number.isFinite(timeMs))
      throw new TypeError(`timeMs must be a finite number, not ${timeMs}.`);
    this.store.log(this.record, severity, description, child?.record, description, timeMs);
  }

  /** Writes the time of the registry's clock into a cell, for the `timeMs` of a later event. Allocates nothing. */
  stamp(cells: Float64Array, index: number): void {
    this.store.stamp(cells, index);
  }

  /** Removes the object from all lists. It can be looked up by its id for a while, with the reason as its last event. */
  close(reason = ""): void {
    this.store.close(this.record, reason, "info");
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

abstract class ChannelLikeHandle extends CallCounter<ChannelRecord> {
  get state(): ConnectivityState {
    return this.record.state;
  }

  /**
   * Sets the connectivity state, and logs the change with its cause, if there is one. A transition that gRPC's semantics do not
   * allow is logged as a warning. SHUTDOWN is final: a later change is logged as ignored. No effect if the state is the same, or
   * after close.
   */
  setState(state: ConnectivityState, cause = ""): void {
    checkState(state);
    const { record } = this;
    const from = record.state;
    if (from === state) return;
    if (from === "SHUTDOWN") {
      this.store.log(record, "warning", `SHUTDOWN -> ${state} ignored, because SHUTDOWN is final`);
      return;
    }
    record.state = state;
    const isExpected = isExpectedTransition(from, state, record.kind === "subchannel");
    const severity = !isExpected || state === "TRANSIENT_FAILURE" ? "warning" : "info";
    const change = `${from} -> ${state}${isExpected ? "" : " (unexpected)"}`;
    this.store.log(record, severity, cause === "" ? change : `${change}: ${cause}`);
  }

  /**
   * Links a child under this one. Throws LINK_MIXED_CHILDREN, LINK_CYCLE or LINK_REFUSED. A channel that was added without a parent
   * stays a top channel.
   */
  link(child: ChannelHandle | SubchannelHandle | SocketHandle): void {
    checkChild(child);
    if (child.store !== this.store) {
      throw new ChannelzError(
        "LINK_REFUSED",
        `Cannot put ${nameRecord(child.record)} under ${nameRecord(this.record)}: they belong to different registries. ` +
          "Add both to the same one.",
      );
    }
    adopt(this.store, this.record, child.record, "Linked");
  }

  /** Unlinks a child; false if it was not linked. */
  unlink(child: ChannelHandle | SubchannelHandle | SocketHandle): boolean {
    checkChild(child);
    if (child.store !== this.store || !unlinkRecords(this.record, child.record)) return false;
    if (child.record instanceof ChannelRecord) {
      this.store.logChild(this.record, "info", "Unlinked", child.record);
    }
    return true;
  }
}

/** A channel of the application: count calls, set states, log events, close. */
export class ChannelHandle extends ChannelLikeHandle {
  get kind(): "channel" {
    return "channel";
  }
}

/** A subchannel of the application: count calls, set states, log events, close. */
export class SubchannelHandle extends ChannelLikeHandle {
  get kind(): "subchannel" {
    return "subchannel";
  }
}

/** A server of the application: count calls, log events, close. */
export class ServerHandle extends CallCounter<ServerRecord> {
  /**
   * Held here, because they exist as long as the server, even if the application drops their handles.
   * @internal
   */
  listenSockets: SocketHandle[] = [];

  get kind(): "server" {
    return "server";
  }
}

/** A socket of the application: count streams, messages and keep-alives, close. */
export class SocketHandle {
  get kind(): "socket" {
    return "socket";
  }

  /** @internal */
  declare readonly store: Store;
  /** @internal */
  declare readonly record: SocketRecord;

  /** @internal */
  constructor(store: Store, record: SocketRecord) {
    this.store = store;
    this.record = record;
  }

  /** Unique in the process, across all kinds; positive. */
  get id(): number {
    return this.record.id;
  }

  /** Whether it was closed. */
  get isClosed(): boolean {
    return this.record.lifecycle !== "live";
  }

  /** Names the peer, which may say who it is after it connected. A describer that returns a name overrides it. */
  nameRemote(remoteName: string): void {
    const { record } = this;
    if (record.endpoints?.remoteName !== remoteName) record.endpoints = { ...record.endpoints, remoteName };
  }

  /** Counts a stream that this end opened, usually a client. */
  localStreamStarted(): void {
    const { record, store } = this;
    if (record.at === 0) store.claimRow(record);
    const { cells, at } = record;
    cells[at + streamsStarted]! += 1;
    store.stamp(cells, at + lastLocalStream);
  }

  /** Counts a stream that the peer opened; usual on a server. */
  remoteStreamStarted(): void {
    const { record, store } = this;
    if (record.at === 0) store.claimRow(record);
    const { cells, at } = record;
    cells[at + streamsStarted]! += 1;
    store.stamp(cells, at + lastRemoteStream);
  }

  /** Counts a stream that ended properly: a client received the end-of-stream bit, a server sent it. */
  streamSucceeded(): void {
    const { record } = this;
    if (record.at === 0) this.store.claimRow(record);
    record.cells[record.at + streamsSucceeded]! += 1;
  }

  /** Counts a stream that ended in any other way. */
  streamFailed(): void {
    const { record } = this;
    if (record.at === 0) this.store.claimRow(record);
    record.cells[record.at + streamsFailed]! += 1;
  }

  /** Counts a message, not a frame, that was sent. */
  messageSent(): void {
    const { record, store } = this;
    if (record.at === 0) store.claimRow(record);
    const { cells, at } = record;
    cells[at + messagesSent]! += 1;
    store.stamp(cells, at + lastMessageSent);
  }

  /** Counts a message, not a frame, that was received. */
  messageReceived(): void {
    const { record, store } = this;
    if (record.at === 0) store.claimRow(record);
    const { cells, at } = record;
    cells[at + messagesReceived]! += 1;
    store.stamp(cells, at + lastMessageReceived);
  }

  /** Counts a keep-alive, typically an HTTP/2 ping. */
  keepAliveSent(): void {
    const { record } = this;
    if (record.at === 0) this.store.claimRow(record);
    record.cells[record.at + keepAlivesSent]! += 1;
  }

  /** Removes the socket from all lists. It can be looked up by its id for a while. A reason is logged in the trace of its owner. */
  close(reason = ""): void {
    this.store.closeSocket(this.record, reason, "info");
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function checkChild(child: unknown): void {
  if (child instanceof ChannelLikeHandle || child instanceof SocketHandle) return;
  throw new TypeError(
    "The child must be a channel, subchannel or socket: pass the handle that the registry returned for it.",
  );
}

/** Links a child, and logs it in the parent's trace unless it is a socket. */
export function adopt(store: Store, parent: ChannelRecord, child: ChannelRecord | SocketRecord, verb: string): void {
  if (!(child instanceof ChannelRecord)) linkSocket(parent, child);
  else if (linkChannel(parent, child)) store.logChild(parent, "info", verb, child);
}
