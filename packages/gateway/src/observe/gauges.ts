import type { ParkedCalls } from "../callers/parked-calls.js";
import type { EndpointParts } from "../endpoint/endpoint-parts.js";
import type { Gauge } from "../metrics.js";
import type { Upstreams } from "../servers/upstreams.js";
import { countCredentialOperations } from "./credential-counts.js";

const states = ["IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"] as const;

/** Reads how things stand in a gateway, for whoever asks for its metrics. */
export function createGauges(
  parts: Pick<EndpointParts, "sessions" | "streams" | "subscriptions">,
  upstreams: Upstreams,
  parked: ParkedCalls,
): () => readonly Gauge[] {
  const credentials = countCredentialOperations((connection) => upstreams.all.some(({ info }) => info === connection));
  return () => {
    const servers = upstreams.statuses();
    const one = (name: string, help: string, value: number): Gauge => ({ name, help, values: [{ labels: {}, value }] });
    return [
      one("wirescope_gateway_sessions", "Sessions of the older protocol.", parts.sessions.size),
      one("wirescope_gateway_event_streams", "Streams of events that are open.", parts.streams.size),
      one(
        "wirescope_gateway_listeners",
        "Clients of the newer protocol that listen for changes.",
        parts.subscriptions.size,
      ),
      one("wirescope_gateway_parked_calls", "Calls that wait for the input of their client.", parked.size),
      {
        name: "wirescope_gateway_server_state",
        help: "The state of the connection to each server: 1 for the one that it is in.",
        values: servers.flatMap(({ name, state }) =>
          states.map((candidate) => ({
            labels: { server: name, state: candidate },
            value: candidate === state ? 1 : 0,
          })),
        ),
      },
      {
        name: "wirescope_gateway_server_tools",
        help: "Tools that each server offers.",
        values: servers.map(({ name, tools }) => ({ labels: { server: name }, value: tools ?? 0 })),
      },
      {
        name: "wirescope_gateway_server_calls_in_flight",
        help: "Calls of each server under way.",
        values: servers.map(({ name, callsInFlight }) => ({ labels: { server: name }, value: callsInFlight })),
      },
      {
        name: "wirescope_gateway_credential_operations_total",
        type: "counter",
        help: "Refreshes, sign-ins and runs of helpers that ended, by server, outcome, and what they failed for.",
        values: credentials.values(),
      },
      one("process_resident_memory_bytes", "Resident memory.", process.memoryUsage.rss()),
      one("process_uptime_seconds", "Seconds since the start.", process.uptime()),
    ];
  };
}
