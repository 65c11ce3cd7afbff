import type { ClientHttp2Session, ServerHttp2Session } from "node:http2";
import { createRequire } from "node:module";
import type { AnyHttp2Server } from "../http2/patch-module.js";

// The members of grpc-js's classes that are used here. They are undocumented, so the methods to patch are checked first.

/** The id of an object in grpc-js's own registry. */
export interface Ref {
  readonly kind: "channel" | "subchannel" | "server" | "socket";
  readonly id: number;
}

export type SeverityName = "CT_UNKNOWN" | "CT_INFO" | "CT_WARNING" | "CT_ERROR";

export interface ChannelzTrace {
  addTrace(severity: SeverityName, description: string, child?: Ref): void;
}

export interface Status {
  readonly code: number;
  readonly details?: string;
}

/** The implementation behind the application's channel. */
export interface InternalChannel {
  readonly connectivityState: number;
  /** Calls in progress. */
  readonly callCount: number;
  readonly currentPicker: { readonly status?: Status };
  readonly channelzInfoTracker: { readonly target: string; readonly trace: ChannelzTrace };
  readonly wrappedSubchannels: ReadonlySet<WrappedSubchannel>;
  updateState(state: number): void;
  onCallStart(): void;
  onCallEnd(status: Status): void;
  addWrappedSubchannel(wrapped: WrappedSubchannel): void;
  removeWrappedSubchannel(wrapped: WrappedSubchannel): void;
}

/** A channel's reference to a subchannel, which other channels and other load balancing policies may share. */
export interface WrappedSubchannel {
  getRealSubchannel(): Subchannel;
}

export type SubchannelAddress = { readonly host: string; readonly port: number } | { readonly path: string };

export interface Subchannel {
  readonly connectivityState: number;
  readonly refcount: number;
  readonly channelzTrace: ChannelzTrace;
  readonly channelTarget: { readonly path: string };
  readonly subchannelAddress: SubchannelAddress;
  readonly connector: object;
  readonly transport: Transport | null;
  readonly subchannelChannel?: SingleSubchannelChannel | null;
  getAddress(): string;
  getChannelzRef(): Ref;
  ref(): void;
  transitionToState(from: number[], to: number, errorMessage?: string): boolean;
  createCall(...args: unknown[]): SubchannelCall;
  getChannel?(): SingleSubchannelChannel;
}

/** A connection of a subchannel. */
export interface Transport {
  readonly session: ClientHttp2Session;
  readonly activeCalls: ReadonlySet<SubchannelCall>;
  /** The target behind a proxy. */
  readonly remoteName: string | null;
}

export interface SubchannelCall {
  readonly transport: Transport;
  readonly finalStatus: Status | null;
  readonly statusOutput: boolean;
  outputStatus(): void;
}

export interface Connector {
  connect(...args: unknown[]): Promise<Transport>;
  createSession(...args: unknown[]): Promise<Transport>;
}

/** The channel that grpc-js itself uses for load reports and health checks of one backend. */
export interface SingleSubchannelChannel {
  readonly subchannel: Subchannel;
  getTarget(): string;
  createCall(...args: unknown[]): NestedCall;
  close(): void;
}

export interface NestedCall {
  start(metadata: unknown, listener: { onReceiveStatus(status: Status): void }): unknown;
}

export interface Server {
  readonly channelzTrace: ChannelzTrace;
  readonly http2Servers: ReadonlyMap<AnyHttp2Server, { readonly sessions: ReadonlySet<ServerHttp2Session> }>;
  getChannelzRef(): Ref;
  getChannelzInfo(): unknown;
  createHttp2Server(...args: unknown[]): AnyHttp2Server;
  _setupHandlers(server: AnyHttp2Server, ...rest: unknown[]): void;
}

type Reply<T> = (error: unknown, response?: T) => void;
interface ServerPage {
  readonly server: readonly { readonly ref: { readonly server_id: number } }[];
  readonly end: boolean;
}

/** The module with grpc-js's own registry. Its functions can be replaced, because callers look them up on each call. */
export interface ChannelzModule {
  readonly ChannelzTrace: { readonly prototype: ChannelzTrace };
  registerChannelzServer(name: string, getInfo: () => unknown, isEnabled: boolean): Ref;
  unregisterChannelzRef(ref: Ref): void;
  getChannelzHandlers(): {
    GetServers(call: { request: { start_server_id: string; max_results: string } }, callback: Reply<ServerPage>): void;
  };
}

interface PooledSubchannels {
  readonly pool: Readonly<Record<string, readonly { readonly subchannel: Subchannel }[]>>;
}

/** The classes of one copy of grpc-js. */
export interface Internals {
  readonly channelz: ChannelzModule;
  readonly channel: InternalChannel;
  readonly subchannel: Subchannel;
  readonly subchannelCall: SubchannelCall;
  readonly connector: Connector;
  readonly server: Server;
  /** Since grpc-js 1.14. */
  readonly singleSubchannelChannel: SingleSubchannelChannel | undefined;
  readonly globalPool: () => PooledSubchannels;
}

/** Loads the internals of the copy of grpc-js with this main file. Throws a TypeError if a required member is missing. */
export function loadInternals(mainFile: string): Internals {
  const load = createRequire(mainFile);
  const missing: string[] = [];
  const prototypeOf = <T extends object>(file: string, name: string, ...methods: (keyof T & string)[]): T => {
    const prototype = (load(file) as Record<string, { prototype?: T } | undefined>)[name]?.prototype;
    for (const method of methods) {
      if (typeof prototype?.[method] !== "function") missing.push(`${name}.${method}`);
    }
    return prototype as T;
  };
  const internals: Internals = {
    channelz: load("./channelz.js") as ChannelzModule,
    channel: prototypeOf<InternalChannel>(
      "./internal-channel.js",
      "InternalChannel",
      "updateState",
      "onCallStart",
      "onCallEnd",
      "addWrappedSubchannel",
      "removeWrappedSubchannel",
    ),
    subchannel: prototypeOf<Subchannel>("./subchannel.js", "Subchannel", "ref", "transitionToState", "createCall"),
    subchannelCall: prototypeOf<SubchannelCall>("./subchannel-call.js", "Http2SubchannelCall", "outputStatus"),
    connector: prototypeOf<Connector>("./transport.js", "Http2SubchannelConnector", "connect", "createSession"),
    server: prototypeOf<Server>("./server.js", "Server", "getChannelzInfo", "createHttp2Server", "_setupHandlers"),
    singleSubchannelChannel: loadOptional(load, "./single-subchannel-channel.js", "SingleSubchannelChannel"),
    globalPool: () =>
      (load("./subchannel-pool.js") as { getSubchannelPool(g: true): PooledSubchannels }).getSubchannelPool(true),
  };
  if (missing.length > 0) {
    const { version } = load("../../package.json") as { version: string };
    throw new TypeError(
      `@grpc/grpc-js ${version} (${mainFile}) cannot be observed: it has no ${missing.join(", ")}. Use version 1.12.6 or later, or report this version.`,
    );
  }
  return internals;
}

function loadOptional<T>(load: NodeJS.Require, file: string, name: string): T | undefined {
  try {
    return (load(file) as Record<string, { prototype: T } | undefined>)[name]?.prototype;
  } catch {
    return undefined;
  }
}

const states = ["IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"] as const;

/** The state for a number of grpc-js's `ConnectivityState` enum. */
export function stateOf(value: number): (typeof states)[number] | "UNKNOWN" {
  return states[value] ?? "UNKNOWN";
}
