import type { EndpointContext } from "../endpoint/endpoint-context.js";
import { endFailed, httpError, refuse, shuttingDown } from "../endpoint/http-messages.js";
import type { EndpointRequest, EndpointResponse, HttpHandler } from "../endpoint/http-request.js";
import { createMcpEndpoint } from "../endpoint/mcp-endpoint.js";
import type { TextPage } from "../gateway-observer.js";

const mcpPath = "/mcp";

/** Paths that need no token: liveness and readiness, without any detail. */
export const publicPaths = ["/healthz", "/readyz"] as const;

/** All paths that every gateway serves, except those of its page and its services. */
export const servedPaths: ReadonlySet<string> = new Set([mcpPath, ...publicPaths]);

export interface RoutesOptions {
  /** Text that observers serve, by path. */
  readonly texts: Readonly<Record<string, TextPage>>;
  /** Whether each server has connected or failed. */
  readonly isReady: () => boolean;
  /** Additional pages of the program that started the gateway, by path. */
  readonly pages: Readonly<Record<string, HttpHandler>>;
  /** The page for browsers: handles a request if its path belongs to the page. */
  readonly handlePage?: ((request: EndpointRequest, response: EndpointResponse, path: string) => boolean) | undefined;
}

/** Handles all HTTP requests that are not for Channelz or the administration, by path. */
export function createRoutes(context: EndpointContext, options: RoutesOptions): HttpHandler {
  const { isClosing } = context;
  const mcp = createMcpEndpoint(context);
  const getOnly =
    (handler: HttpHandler): HttpHandler =>
    (request, response) => {
      if (request.method === "GET" || request.method === "HEAD") handler(request, response);
      else refuse(request, response, httpError(405, "Method not allowed. Use GET."), null, { allow: "GET, HEAD" });
    };

  const pages = new Map<string, HttpHandler>(
    Object.entries({
      ...options.pages,
      [mcpPath]: mcp,
      "/healthz": getOnly((request, response) => sendText(request, response, 200, "ok\n")),
      "/readyz": getOnly((request, response) => {
        const isReady = !isClosing() && options.isReady();
        sendText(request, response, isReady ? 200 : 503, isReady ? "ready\n" : "not ready\n");
      }),
      ...Object.fromEntries(
        Object.entries(options.texts).map(([path, { type, read }]) => [
          path,
          getOnly((request, response) => sendText(request, response, 200, read(), type)),
        ]),
      ),
    }),
  );

  return (request, response) => {
    const url = request.url ?? "";
    const query = url.indexOf("?");
    const path = query < 0 ? url : url.slice(0, query);
    const page = pages.get(path);
    const isMessage = request.method === "POST" && path === mcpPath;
    try {
      // Messages that calls in flight may wait for are accepted until the end.
      if (isClosing() && !isMessage && path !== "/healthz" && path !== "/readyz") {
        refuse(request, response, shuttingDown());
      } else if (page !== undefined) page(request, response);
      else if (!options.handlePage?.(request, response, path)) {
        refuse(request, response, httpError(404, `Nothing is served at this path. Use Streamable HTTP at ${mcpPath}.`));
      }
    } catch (error) {
      endFailed(context, request, response, error);
    }
  };
}

function sendText(
  request: EndpointRequest,
  response: EndpointResponse,
  status: number,
  text: string,
  type = "text/plain; charset=utf-8",
): void {
  const length = Buffer.byteLength(text);
  response.writeHead(status, { "content-type": type, "content-length": length, "cache-control": "no-store" });
  if (request.method === "HEAD") response.end();
  else response.end(text);
}
