import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type DemoTool, handleRequest } from "./tool-set.js";

/** The response to a request that a server refuses. */
export interface DemoRefusal {
  readonly status: 401 | 403;
  readonly challenge: string;
}

interface HttpToolServerOptions {
  readonly name: string;
  readonly tools: readonly DemoTool[];
  /** Decides whether to refuse a request; undefined accepts it. */
  readonly refuse: (request: IncomingMessage, body: string) => DemoRefusal | undefined;
  /** Documents that it publishes, by path. */
  readonly documents?: (origin: string) => Readonly<Record<string, object>>;
}

/** A tool server over Streamable HTTP, on a free loopback port. */
export interface HttpToolServer {
  readonly origin: string;
  readonly url: string;
  close(): Promise<void>;
}

export async function startHttpToolServer(options: HttpToolServerOptions): Promise<HttpToolServer> {
  const { name, tools, refuse } = options;
  const server: Server = createServer(
    handleSafely(async (request, response) => {
      const document = options.documents?.(origin)[request.url ?? ""];
      if (document !== undefined) {
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
        return;
      }
      if (request.method !== "POST" || request.url !== "/mcp") {
        response.writeHead(request.url === "/mcp" ? 405 : 404).end();
        return;
      }
      const body = await text(request);
      const refusal = refuse(request, body);
      if (refusal !== undefined) {
        response.writeHead(refusal.status, { "www-authenticate": refusal.challenge }).end();
        return;
      }
      const message = await handleRequest(name, tools, JSON.parse(body));
      if (message === undefined) response.writeHead(202).end();
      else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message));
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    url: `${origin}/mcp`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Handles requests, and responds 400 to invalid ones, so that they cannot end the demonstration. */
export function handleSafely(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): RequestListener {
  return (request, response) => {
    request.on("error", () => {});
    handle(request, response).catch(() => {
      if (!response.headersSent) response.writeHead(400);
      response.end();
    });
  };
}
