import type { ChannelzPackage } from "../channelz-package.js";
import type { EncodedRead, EncodedSource } from "../encoded-source.js";
import { ChannelzError } from "../errors.js";
import { toInt64, toPage } from "../int64.js";
import type { Int64, PageRequest, ReadOptions, Source } from "../source.js";
import { type Clock, createTurnClock, stampClockOf } from "./clock.js";
import { type ConnectivityState, checkState } from "./connectivity.js";
import type { Responses } from "./decode-response.js";
import { type DroppedObject, DropWatch } from "./drop-watch.js";
import { adopt, ChannelHandle, ServerHandle, SocketHandle, SubchannelHandle } from "./handles.js";
import { OrderedTable } from "./ordered-table.js";
import { RecordReader } from "./record-reader.js";
import { type AnyRecord, ChannelRecord, nameRecord, ServerRecord, SocketRecord, Trace } from "./records.js";
import { checkSocketDetails, checkString, type SocketDescriber, type SocketEndpoints } from "./socket-details.js";
import { type RegistrySize, Store } from "./store.js";

/** The limits and the clock of a registry. */
export interface RegistryOptions {
  /** The time of all events and calls. Default: the system clock, read once per turn of the event loop. */
  readonly clock?: Clock;
  /** The maximum number of trace events per object; a new one replaces the oldest. Default 32; 0 keeps none, but still counts. */
  readonly maxTraceEvents?: number;
  /** The approximate maximum size of all trace events in bytes; above it, the oldest of all are removed. Default 4 MiB. */
  readonly maxTraceBytes?: number;
  /** The maximum number of closed objects of each kind that can still be looked up. Default 1000; 0 turns that off. */
  readonly maxClosed?: number;
  /** Whether to record where each object was added, to report it when one is dropped. Costs a stack trace per object. Default false. */
  readonly remembersCreation?: boolean;
  /** Called for each object that the application dropped without closing it. Default: a process warning, once per kind or stack trace. */
  readonly onDropped?: (dropped: DroppedObject) => void;
}

/** The properties of a new channel. */
export interface ChannelInit {
  /** For people. */
  readonly name?: string;
  /** The target that the channel originally tried to connect to. */
  readonly target?: string;
  /** The initial state: UNKNOWN if it existed before and its state is not known. Default IDLE. */
  readonly state?: ConnectivityState;
  /** Its first parent. A channel that is added without one is always a top channel, even if it is linked later. */
  readonly parent?: ChannelHandle | SubchannelHandle;
}

/** The properties of a new subchannel. */
export interface SubchannelInit {
  readonly name?: string;
  readonly target?: string;
  /** The initial state, as for a channel. Default IDLE. */
  readonly state?: ConnectivityState;
  readonly parent?: ChannelHandle | SubchannelHandle;
}

/** The properties of a new server. */
export interface ServerInit {
  readonly name?: string;
}

/** The properties of a new socket. */
export interface SocketInit<S extends object = object> extends SocketEndpoints {
  readonly name?: string;
  /** The channel or subchannel that uses it; not together with `server`. */
  readonly parent?: ChannelHandle | SubchannelHandle;
  /** The server that accepted it. */
  readonly server?: ServerHandle;
  /** The argument of `describe`; held weakly after at most a second. */
  readonly subject?: S;
  /**
   * Returns details that are expensive to read: options, windows, certificates. It must not refer to the subject itself, so pass a
   * module-level function and not a closure over a connection.
   */
  readonly describe?: SocketDescriber<S>;
}

/** The properties of a new listening socket. */
export interface ListenSocketInit<S extends object = object> extends Omit<SocketInit<S>, "parent" | "server"> {
  readonly server: ServerHandle;
}

/**
 * The channels, subchannels, servers and sockets of this process, as a {@link Source}.
 *
 * The application adds objects and holds the handles; the registry never keeps an object of the application alive.
 */
export interface Registry extends Source, EncodedSource {
  /** The current number of objects and trace events. */
  readonly size: RegistrySize;
  /** Adds a channel: a top channel, or one under a parent. */
  addChannel(init?: ChannelInit): ChannelHandle;
  addSubchannel(init?: SubchannelInit): SubchannelHandle;
  addServer(init?: ServerInit): ServerHandle;
  /** Adds a connection. */
  addSocket<S extends object>(init?: SocketInit<S>): SocketHandle;
  /** Adds a socket on which a server listens. It closes with the server, unless it is closed before. */
  addListenSocket<S extends object>(init: ListenSocketInit<S>): SocketHandle;
}

/** Creates an empty registry. */
export function createRegistry(options: RegistryOptions = {}): Registry {
  return new LiveRegistry(options);
}

class LiveRegistry implements Registry {
  readonly #store: Store;
  readonly #reader: RecordReader;
  readonly #drops: DropWatch;

  constructor(options: RegistryOptions) {
    const store = new Store(
      options.clock === undefined ? createTurnClock() : stampClockOf(options.clock),
      {
        maxEventsPerObject: bound("maxTraceEvents", options.maxTraceEvents ?? 32),
        maxBytes: bound("maxTraceBytes", options.maxTraceBytes ?? 4 * 1024 * 1024),
      },
      bound("maxClosed", options.maxClosed ?? 1000),
    );
    this.#store = store;
    this.#reader = new RecordReader(store);
    this.#drops = new DropWatch(options.remembersCreation ?? false, options.onDropped, (record) => {
      store.close(record, "dropped by the application without being closed", "warning");
    });
  }

  get size(): RegistrySize {
    return this.#store.size;
  }

  addChannel(init: ChannelInit = {}): ChannelHandle {
    const record = this.#addChannelRecord("channel", init);
    return this.#drops.watch(new ChannelHandle(this.#store, record));
  }

  addSubchannel(init: SubchannelInit = {}): SubchannelHandle {
    const record = this.#addChannelRecord("subchannel", init);
    return this.#drops.watch(new SubchannelHandle(this.#store, record));
  }

  addServer({ name = "" }: ServerInit = {}): ServerHandle {
    checkString("name", name);
    const store = this.#store;
    const trace = new Trace(store.clock.now());
    const record = new ServerRecord(store.nextId(), name, trace, new OrderedTable(), new OrderedTable());
    store.add(record);
    store.servers.add(record);
    store.log(record, "info", "Created");
    return this.#drops.watch(new ServerHandle(store, record));
  }

  addSocket<S extends object>(init: SocketInit<S> = {}): SocketHandle {
    const { parent, server } = init;
    if (parent !== undefined && server !== undefined) {
      throw new TypeError("A socket has one owner: pass `parent` or `server`, not both.");
    }
    const record = this.#socketRecord(init);
    if (parent !== undefined) {
      this.#checkOwn(parent, record);
      adopt(this.#store, parent.record, record, "Created");
    } else if (server !== undefined) {
      this.#serve(server, record, server.record.sockets);
    }
    this.#store.addSocket(record);
    return this.#drops.watch(new SocketHandle(this.#store, record));
  }

  addListenSocket<S extends object>(init: ListenSocketInit<S>): SocketHandle {
    const record = this.#socketRecord(init);
    const { server } = init;
    this.#serve(server, record, server.record.listenSockets);
    this.#store.addSocket(record);
    const handle = this.#drops.watch(new SocketHandle(this.#store, record));
    server.listenSockets = server.listenSockets.filter((one) => one.record.lifecycle === "live").concat(handle);
    return handle;
  }

  encode(read: EncodedRead, channelzPackage: ChannelzPackage, headroom: number): Uint8Array {
    return this.#reader.encode(read, channelzPackage, headroom);
  }

  async getTopChannels(request?: PageRequest, options?: ReadOptions): Promise<Responses["GetTopChannels"]> {
    return this.#read({ method: "GetTopChannels", ...toPage(request) }, options);
  }

  async getServers(request?: PageRequest, options?: ReadOptions): Promise<Responses["GetServers"]> {
    return this.#read({ method: "GetServers", ...toPage(request) }, options);
  }

  async getServer(id: Int64, options?: ReadOptions): Promise<Responses["GetServer"]> {
    return this.#read({ method: "GetServer", id: toInt64(id) }, options);
  }

  async getServerSockets(
    id: Int64,
    request?: PageRequest,
    options?: ReadOptions,
  ): Promise<Responses["GetServerSockets"]> {
    const read = { method: "GetServerSockets" as const, id: toInt64(id), ...toPage(request) };
    return this.#read(read, options);
  }

  async getChannel(id: Int64, options?: ReadOptions): Promise<Responses["GetChannel"]> {
    return this.#read({ method: "GetChannel", id: toInt64(id) }, options);
  }

  async getSubchannel(id: Int64, options?: ReadOptions): Promise<Responses["GetSubchannel"]> {
    return this.#read({ method: "GetSubchannel", id: toInt64(id) }, options);
  }

  async getSocket(id: Int64, options?: ReadOptions & { readonly summary?: boolean }): Promise<Responses["GetSocket"]> {
    const read = { method: "GetSocket" as const, id: toInt64(id), summary: options?.summary ?? false };
    return this.#read(read, options);
  }

  /** Records can only be encoded, so reads in this process decode the bytes. */
  async #read<M extends EncodedRead["method"]>(
    read: EncodedRead & { readonly method: M },
    options: ReadOptions | undefined,
  ): Promise<Responses[M]> {
    options?.signal?.throwIfAborted();
    const bytes = this.#reader.encode(read, "rpc.channelz.v1", 0);
    const { decodeResponse } = await loadDecoder();
    return decodeResponse<M>(read.method, bytes);
  }

  #addChannelRecord(
    kind: "channel" | "subchannel",
    { name = "", target = "", state = "IDLE", parent }: ChannelInit | SubchannelInit,
  ): ChannelRecord {
    checkState(state);
    checkString("name", name);
    checkString("target", target);
    const store = this.#store;
    const isTop = kind === "channel" && parent === undefined;
    const record = new ChannelRecord(store.nextId(), kind, name, target, isTop, new Trace(store.clock.now()));
    record.state = state;
    if (parent !== undefined) {
      this.#checkOwn(parent, record);
      adopt(store, parent.record, record, "Created");
    }
    store.add(record);
    if (isTop) store.topChannels.add(record);
    store.log(record, "info", "Created");
    return record;
  }

  #socketRecord<S extends object>(init: SocketInit<S> | ListenSocketInit<S>): SocketRecord {
    const { name = "", local, remote, security, remoteName, subject, describe } = init;
    checkString("name", name);
    const isKnown = local !== undefined || remote !== undefined || security !== undefined || remoteName !== undefined;
    if (isKnown) checkSocketDetails(init);
    return new SocketRecord(
      this.#store.nextId(),
      name,
      isKnown ? { local, remote, security, remoteName } : undefined,
      // Safe: the record passes only this subject to the describer.
      describe as SocketDescriber<object> | undefined,
      subject,
    );
  }

  #serve(server: ServerHandle, record: SocketRecord, sockets: OrderedTable<SocketRecord>): void {
    this.#checkOwn(server, record);
    if (server.isClosed) throw closedServer(server.record, record);
    sockets.add(record);
    record.owner = server.record;
  }

  #checkOwn(owner: ChannelHandle | SubchannelHandle | ServerHandle, child: AnyRecord): void {
    if (owner.store !== this.#store) throw foreignOwner(owner.record, child);
  }
}

let decoder: Promise<typeof import("./decode-response.js")> | undefined;

/** Loaded late, because most processes are rarely read. */
function loadDecoder(): NonNullable<typeof decoder> {
  decoder ??= import("./decode-response.js");
  return decoder;
}

function closedServer(server: ServerRecord, socket: SocketRecord): ChannelzError {
  return new ChannelzError(
    "LINK_REFUSED",
    `Cannot add ${nameRecord(socket)} to ${nameRecord(server)}: the server is closed. Add sockets before it closes.`,
  );
}

function foreignOwner(owner: AnyRecord, child: AnyRecord): ChannelzError {
  return new ChannelzError(
    "LINK_REFUSED",
    `Cannot put ${nameRecord(child)} under ${nameRecord(owner)}: they belong to different registries. Add both to the same one.`,
  );
}

function bound(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new TypeError(`The registry option ${name} must be a non-negative integer, not ${value}.`);
}
