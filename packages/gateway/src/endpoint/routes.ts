import type { Fallback } from "@wirescope/channelz";
import type { ParkedCalls } from "../clients/parked-calls.js";
import type { Gauge } from "../metrics.js";
import type { Upstreams } from "../upstream/upstreams.js";
import type { EndpointParts } from "./endpoint-parts.js";
import { createMcpEndpoint, type HttpHandler } from "./mcp-endpoint.js";
import { httpError, refuse } from "./refuse.js";
import { createSseEndpoint, messagesPath } from "./sse-endpoint.js";
import { sendText } from "./state-pages.js";

/** What may be asked without a token: whether it is there, and whether it can be used. Neither tells more than that. */
export const publicPaths = ["/healthz", "/readyz"] as const;

export interface RoutesState {
  readonly parked: ParkedCalls;
  readonly isClosing: () => boolean;
  /** Pages of who started the gateway, by path. */
  readonly pages: Readonly<Record<string, HttpHandler>>;
}

const states = ["IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"] as const;

/** Everything that the gateway answers over HTTP besides Channelz, by its path. */
export function createRoutes(
  parts: EndpointParts,
  upstreams: Upstreams,
  { parked, isClosing, pages: more }: RoutesState,
): Fallback {
  const sse = createSseEndpoint(parts);
  const mcp = createMcpEndpoint(parts);
  const reading =
    (handler: HttpHandler): HttpHandler =>
    (request, response) => {
      if (request.method === "GET" || request.method === "HEAD") handler(request, response);
      else refuse(request, response, httpError(405, "Method not allowed. Use GET."), null, { allow: "GET, HEAD" });
    };

  const gauges = (): Gauge[] => {
    const servers = upstreams.statuses();
    const one = (name: string, help: string, value: number): Gauge => ({ name, help, values: [{ labels: {}, value }] });
    return [
      one("wirescope_gateway_sessions", "Sessions of the older protocol.", parts.sessions.size),
      one("wirescope_gateway_event_streams", "Streams of events that are open.", parts.streams.size),
      one(
        "wirescope_gateway_listeners",
        "Clients of the newer protocol that listen for changes.",
        parts.listenings.size,
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
      one("process_resident_memory_bytes", "Resident memory.", process.memoryUsage.rss()),
      one("process_uptime_seconds", "Seconds since the start.", process.uptime()),
    ];
  };

  const pages: Readonly<Record<string, HttpHandler>> = {
    ...more,
    "/mcp": mcp,
    "/sse": sse.open,
    [messagesPath]: sse.post,
    "/healthz": reading((request, response) => sendText(request, response, 200, "ok\n")),
    "/readyz": reading((request, response) => {
      const isReady = !isClosing() && upstreams.all.every(({ isSettled }) => isSettled);
      sendText(request, response, isReady ? 200 : 503, isReady ? "ready\n" : "not ready\n");
    }),
    "/metrics": reading((request, response) =>
      sendText(request, response, 200, parts.metrics.render(gauges()), "text/plain; version=0.0.4; charset=utf-8"),
    ),
  };

  return (request, response) => {
    const url = request.url ?? "";
    const query = url.indexOf("?");
    const path = query < 0 ? url : url.slice(0, query);
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) refuse(request, response, httpError(404, "Nothing is served at this path."));
    else if (isClosing() && page !== pages["/healthz"] && page !== pages["/readyz"]) {
      refuse(request, response, httpError(503, "The gateway stops."));
    } else page(request, response);
  };
}
