import type { EndpointParts } from "../endpoint/endpoint-parts.js";
import type { HttpHandler } from "../endpoint/http-exchange.js";
import { createMcpEndpoint } from "../endpoint/mcp-endpoint.js";
import { httpError, refuse } from "../endpoint/refuse.js";
import { createSseEndpoint, messagesPath } from "../endpoint/sse-endpoint.js";
import type { Gauge } from "../metrics.js";
import type { Upstreams } from "../servers/upstreams.js";
import { sendText } from "./state-pages.js";

/** What may be asked without a token: whether it is there, and whether it can be used. Neither tells more than that. */
export const publicPaths = ["/healthz", "/readyz"] as const;

export interface RoutesState {
  readonly gauges: () => readonly Gauge[];
  readonly isClosing: () => boolean;
  /** Pages of who started the gateway, by path. */
  readonly pages: Readonly<Record<string, HttpHandler>>;
}

/** Everything that the gateway answers over HTTP besides Channelz, by its path. */
export function createRoutes(
  parts: EndpointParts,
  upstreams: Upstreams,
  { gauges, isClosing, pages: more }: RoutesState,
): HttpHandler {
  const sse = createSseEndpoint(parts);
  const mcp = createMcpEndpoint(parts);
  const reading =
    (handler: HttpHandler): HttpHandler =>
    (request, response) => {
      if (request.method === "GET" || request.method === "HEAD") handler(request, response);
      else refuse(request, response, httpError(405, "Method not allowed. Use GET."), null, { allow: "GET, HEAD" });
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
