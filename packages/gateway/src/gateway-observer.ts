import type { DescFile } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import type { Clock, ConnectionInfo, PhaseSubject } from "@wirescope/tool-server";
import type { CallObserver } from "./call-observer.js";
import type { GatewayEvents } from "./events.js";
import type { GatewayTelemetry } from "./telemetry-options.js";
import type { TraceFieldReader } from "./trace-fields.js";

/** Observes a gateway, and serves what it knows. */
export interface GatewayObserver {
  readonly calls?: CallObserver | undefined;
  readonly metrics?: readonly Metric[] | undefined;
  /** Text that it serves to clients with a token, by path. */
  readonly pages?: Readonly<Record<string, TextPage>> | undefined;
  readonly service?: ObserverService | undefined;
  /** What it adds to the page for browsers. */
  readonly features?: Readonly<Partial<Record<"calls" | "capture", boolean>>> | undefined;
  /** Stops it. Called after the gateway has stopped, in the reverse order of the start. */
  close?(): void | Promise<void>;
}

/** Starts an observer; undefined if there is nothing that it could do. */
export type StartObserver = (
  context: ObserverContext,
) => GatewayObserver | undefined | Promise<GatewayObserver | undefined>;

/** What observers get from the gateway. */
export interface ObserverContext {
  /** Can be read once the gateway runs. */
  readonly gateway: ObservedGateway;
  readonly events: GatewayEvents;
  readonly clock: Clock;
  /** Redacts text about a server; undefined if it is about none. */
  readonly redact: (text: string, server: string | undefined, kind?: "own") => string;
  /** The id of the Channelz object that shows a connection, a transport or a socket. */
  readonly objectId: (subject: PhaseSubject) => number | undefined;
  /** The metrics of the observers that started before. */
  readonly metrics: readonly Metric[];
  readonly telemetry: GatewayTelemetry;
  readonly traceFields: TraceFieldReader;
  /** How clients on the network reach the gateway. */
  readonly transport: "tcp" | "unix";
  /** Whether `call` events contain the arguments. */
  readonly logsArguments: boolean;
  /** Whether arguments and results may be captured. */
  readonly capturesBodies: boolean;
}

/** The state of a gateway. */
export interface ObservedGateway {
  readonly sessions: () => number;
  readonly eventStreams: () => number;
  readonly subscriptions: () => number;
  readonly parkedCalls: () => number;
  readonly servers: () => readonly {
    readonly name: string;
    readonly state: string;
    readonly tools: number | undefined;
    readonly callsInFlight: number;
  }[];
  readonly hasServer: (name: string) => boolean;
  /** Whether a connection belongs to this gateway: a process may run several. */
  readonly hasConnection: (connection: ConnectionInfo) => boolean;
}

/** A metric that is read on request. */
export interface Metric {
  /** As Prometheus names it. */
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  read(): readonly MetricValue[];
}

export interface MetricValue {
  /** A label that does not apply is empty. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface TextPage {
  readonly type: string;
  read(): string;
}

/** The RPC service of an observer, which is loaded with the first request. */
export interface ObserverService {
  readonly name: string;
  load(assertAdministrator: (context: HandlerContext) => void): Promise<RpcService>;
}

export interface RpcService {
  readonly files: readonly DescFile[];
  readonly routes: (router: ConnectRouter) => void;
  /** Ends open streams. */
  close(): void;
}
