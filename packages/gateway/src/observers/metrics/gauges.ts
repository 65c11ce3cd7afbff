import { type ConnectionInfo, type CredentialEnding, channels } from "@wirescope/tool-server";
import type { Metric, MetricValue, ObservedGateway } from "../../gateway-observer.js";

const states = ["IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"] as const;

/** The state of a gateway as metrics. */
export function createGauges(gateway: ObservedGateway, onDefect: (error: unknown) => void): readonly Metric[] {
  const { sessions, eventStreams, subscriptions, parkedCalls, servers } = gateway;
  const credentials = countCredentialOperations(gateway.hasConnection, onDefect);
  const gauge = (name: string, help: string, read: Metric["read"]): Metric => ({ name, type: "gauge", help, read });
  const one = (name: string, help: string, value: () => number): Metric =>
    gauge(name, help, () => [{ labels: {}, value: value() }]);
  return [
    one("wirescope_gateway_sessions", "Open sessions of legacy clients.", sessions),
    one("wirescope_gateway_event_streams", "Open event streams.", eventStreams),
    one("wirescope_gateway_listeners", "Open subscriptions of modern clients.", subscriptions),
    one("wirescope_gateway_parked_calls", "Calls that wait for input from their client.", parkedCalls),
    gauge("wirescope_gateway_server_state", "Connection state of each server: 1 for the current state, else 0.", () =>
      servers().flatMap(({ name, state }) =>
        states.map((candidate) => ({
          labels: { server: name, state: candidate },
          value: candidate === state ? 1 : 0,
        })),
      ),
    ),
    gauge("wirescope_gateway_server_tools", "Tools offered, by server.", () =>
      servers().map(({ name, tools }) => ({ labels: { server: name }, value: tools ?? 0 })),
    ),
    gauge("wirescope_gateway_server_calls_in_flight", "Calls in flight, by server.", () =>
      servers().map(({ name, callsInFlight }) => ({ labels: { server: name }, value: callsInFlight })),
    ),
    {
      name: "wirescope_gateway_credential_operations_total",
      type: "counter",
      help: "Completed refreshes, sign-ins and helper runs, by server, outcome and error code.",
      read: () => credentials.values(),
    },
    one("process_resident_memory_bytes", "Resident memory in bytes.", () => process.memoryUsage.rss()),
    one("process_uptime_seconds", "Seconds since the process started.", () => process.uptime()),
  ];
}

/** Beyond this number of series, others are counted together: each reload may add servers with new names. */
const maxSeries = 2000;

/** Counts refreshes, sign-ins and helper runs by their outcome. A class, because it is held weakly. */
class CredentialCounts {
  readonly #series = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>();
  readonly #isOurs: (connection: ConnectionInfo) => boolean;

  readonly #onDefect: (error: unknown) => void;

  constructor(isOurs: (connection: ConnectionInfo) => boolean, onDefect: (error: unknown) => void) {
    this.#isOurs = isOurs;
    this.#onDefect = onDefect;
  }

  /** Never throws: Node ends the process if a listener of a diagnostics channel throws. */
  count(ending: CredentialEnding): void {
    try {
      this.#count(ending);
    } catch (error) {
      this.#onDefect(error);
    }
  }

  #count({ operation: { subject, kind }, outcome, code }: CredentialEnding): void {
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

  values(): readonly MetricValue[] {
    return [...this.#series.values()].map(({ labels, value }) => ({ labels, value }));
  }
}

/** Starts to count the credential operations of connections for which `isOurs` returns true. */
export function countCredentialOperations(
  isOurs: (connection: ConnectionInfo) => boolean,
  onDefect: (error: unknown) => void,
): Pick<CredentialCounts, "values"> {
  const counts = new CredentialCounts(isOurs, onDefect);
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
