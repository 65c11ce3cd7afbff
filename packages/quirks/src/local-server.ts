import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type LoggedRequest, readRequest } from "./logged-request.js";
import { type QuirkResponse, sendResponse } from "./quirk-response.js";

/** A server on this machine alone that remembers what it was asked. */
export interface LocalServer {
  readonly origin: string;
  /** All requests, in order. */
  readonly requests: readonly LoggedRequest[];
  close(): Promise<void>;
}

/** Where a local server listens. */
export interface LocalServerOptions {
  /** Default: one that is free. */
  readonly port?: number | undefined;
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
  const server = createServer();
  await listen(server, options.port ?? 0);
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
