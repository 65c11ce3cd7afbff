import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";

/** A server on 127.0.0.1 that keeps the requests it received. */
export interface LocalServer {
  readonly origin: string;
  /** All requests, in order. */
  readonly requests: readonly LoggedRequest[];
  close(): Promise<void>;
}

/** Options of a local server. */
export interface LocalServerOptions {
  /** Default: any free port. */
  readonly port?: number | undefined;
  /** The certificate and key, in PEM, to serve https. Default: http. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** How many requests are kept; the oldest are dropped first. Default: all. */
  readonly maxRequests?: number | undefined;
  /** Called with each request before its response is sent. */
  readonly onRequest?: ((request: LoggedRequest) => void) | undefined;
}

/** Listens on 127.0.0.1. Rejects if the port is in use. */
export async function startLocalServer(
  options: LocalServerOptions,
  respond: (request: LoggedRequest) => Promise<QuirkResponse> | QuirkResponse,
): Promise<LocalServer> {
  const requests: LoggedRequest[] = [];
  const { maxRequests = Number.POSITIVE_INFINITY } = options;
  const server = options.tls === undefined ? createServer() : createSecureServer(options.tls);
  await listen(server, options.port ?? 0);
  const scheme = options.tls === undefined ? "http" : "https";
  const origin = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on("request", async (incoming, response) => {
    try {
      const request = await readRequest(incoming, origin);
      requests.push(request);
      if (requests.length > maxRequests) requests.shift();
      options.onRequest?.(request);
      sendResponse(response, await respond(request));
    } catch {
      response.destroy();
    }
  });
  return {
    origin,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** A request that one of the servers received. */
export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The fields of a form; empty if the body is something else. */
  readonly form: URLSearchParams;
  /** The body if it is a JSON object; else empty. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage["headers"];
}

const maxBodyBytes = 1_000_000;

/** Reads a whole request. Rejects if its body is too large. */
export async function readRequest(incoming: IncomingMessage, origin: string): Promise<LoggedRequest> {
  const { method = "", url = "", headers } = incoming;
  let body = "";
  for await (const chunk of incoming) {
    body += String(chunk);
    if (body.length > maxBodyBytes) throw new Error("The body is too large.");
  }
  const { pathname, searchParams } = new URL(url, origin);
  const isJson = headers["content-type"]?.startsWith("application/json") ?? false;
  return {
    method,
    path: pathname,
    query: searchParams,
    form: new URLSearchParams(isJson ? "" : body),
    json: isJson ? objectOf(body) : {},
    headers,
  };
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The response of a server: status, body (a string, or a value to send as JSON) and headers; or none; or an endless body. */
export type QuirkResponse =
  | readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>]
  | "silence"
  | "flood";

/** A page instead of metadata. */
export const somePage: QuirkResponse = [200, "<!doctype html><title>Welcome</title>", { "content-type": "text/html" }];

function sendResponse(response: ServerResponse, content: QuirkResponse): void {
  if (content === "silence") return;
  if (content === "flood") {
    flood(response);
    return;
  }
  const [status, body, headers] = content;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}

/** Writes until the client disconnects. */
function flood(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  const piece = `"${"x".repeat(65_536)}",`;
  const more = (): void => {
    if (!response.destroyed) response.write(piece, () => setImmediate(more));
  };
  response.write("[");
  more();
}
