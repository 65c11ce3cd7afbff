import { type ConnectionInfo, type CredentialEnding, channels } from "@wirescope/tool-server";
import type { Gauge } from "./metrics.js";

const states = ["IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"] as const;

/** The sources of a gateway's gauges. */
export interface GaugeSources {
  readonly sessions: { readonly size: number };
  readonly streams: { readonly size: number };
  readonly subscriptions: { readonly size: number };
  readonly parked: { readonly size: number };
  readonly servers: () => readonly {
    readonly name: string;
    readonly state: string;
    readonly tools: number | undefined;
    readonly callsInFlight: number;
  }[];
  /** Whether a connection belongs to this gateway: a process may run several. */
  readonly hasConnection: (connection: ConnectionInfo) => boolean;
}

/** Creates a function that reads the current values. */
export function createGauges(sources: GaugeSources): () => readonly Gauge[] {
  const { sessions, streams, subscriptions, parked } = sources;
  const credentials = countCredentialOperations(sources.hasConnection);
  return () => {
    const servers = sources.servers();
    const one = (name: string, help: string, value: number): Gauge => ({ name, help, values: [{ labels: {}, value }] });
    return [
      one("wirescope_gateway_sessions", "Open sessions of legacy clients.", sessions.size),
      one("wirescope_gateway_event_streams", "Open event streams.", streams.size),
      one("wirescope_gateway_listeners", "Open subscriptions of modern clients.", subscriptions.size),
      one("wirescope_gateway_parked_calls", "Calls that wait for input from their client.", parked.size),
      {
        name: "wirescope_gateway_server_state",
        help: "Connection state of each server: 1 for the current state, else 0.",
        values: servers.flatMap(({ name, state }) =>
          states.map((candidate) => ({
            labels: { server: name, state: candidate },
            value: candidate === state ? 1 : 0,
          })),
        ),
      },
      {
        name: "wirescope_gateway_server_tools",
        help: "Tools offered, by server.",
        values: servers.map(({ name, tools }) => ({ labels: { server: name }, value: tools ?? 0 })),
      },
      {
        name: "wirescope_gateway_server_calls_in_flight",
        help: "Calls in flight, by server.",
        values: servers.map(({ name, callsInFlight }) => ({ labels: { server: name }, value: callsInFlight })),
      },
      {
        name: "wirescope_gateway_credential_operations_total",
        type: "counter",
        help: "Completed refreshes, sign-ins and helper runs, by server, outcome and error code.",
        values: credentials.values(),
      },
      one("process_resident_memory_bytes", "Resident memory in bytes.", process.memoryUsage.rss()),
      one("process_uptime_seconds", "Seconds since the process started.", process.uptime()),
    ];
  };
}

/** Beyond this number of series, others are counted together: each reload may add servers with new names. */
const maxSeries = 2000;

/** Counts refreshes, sign-ins and helper runs by their outcome. A class, because it is held weakly. */
class CredentialCounts {
  readonly #series = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>();
  readonly #isOurs: (connection: ConnectionInfo) => boolean;

  constructor(isOurs: (connection: ConnectionInfo) => boolean) {
    this.#isOurs = isOurs;
  }

  count({ operation: { subject, kind }, outcome, code }: CredentialEnding): void {
    if (!this.#isOurs(subject)) return;
    const how = { operation: kind, outcome, ...(outcome === "failed" ? { code: code ?? "_OTHER" } : {}) };
    if (!this.#add({ server: subject.name, ...how })) this.#add({ server: "_OTHER", ...how }, true);
  }

  #add(labels: Readonly<Record<string, string>>, isForced = false): boolean {
    const key = Object.values(labels).join("\n");
    const found = this.#series.get(key);
    if (found !== undefined) found.value += 1;
    else if (isForced || this.#series.size < maxSeries) this.#series.set(key, { labels, value: 1 });
    else return false;
    return true;
  }

  values(): Gauge["values"] {
    return [...this.#series.values()].map(({ labels, value }) => ({ labels, value }));
  }
}

/** Starts to count the credential operations of connections for which `isOurs` returns true. */
export function countCredentialOperations(
  isOurs: (connection: ConnectionInfo) => boolean,
): Pick<CredentialCounts, "values"> {
  const counts = new CredentialCounts(isOurs);
  // A weak reference: a subscription must not keep a gateway in memory.
  const held = new WeakRef(counts);
  const channel = channels["credential:ended"];
  const onEnded = (message: unknown): void => {
    const living = held.deref();
    if (living === undefined) channel.unsubscribe(onEnded);
    else living.count(message as CredentialEnding);
  };
  channel.subscribe(onEnded);
  return counts;
}
