import type { ServerResponse } from "node:http";
import type { JSONRPCRequest, TransportSendOptions } from "@modelcontextprotocol/client";
import type { Credential } from "../../auth/credentials/credential.js";
import type { ToolServerError } from "../../errors.js";
import { failureOf } from "../../failure-of.test.helper.js";
import {
  type HostileServer,
  type SeenRequest,
  startHostileServer,
} from "../../http/hostile-http-server.test.helper.js";
import { createStreamableHttpTransport } from "./streamable-http-transport.js";
import type { NetworkContext } from "./transport.js";
import type { TestContext } from "./transport-context.test.helper.js";
import { createNetworkContext, type NetworkChanges } from "./transport-context.test.helper.js";
import { type WatchedTransport, watchTransport } from "./watched-transport.test.helper.js";

/** Handles a request; `message` is the posted message. */
export type McpHandler = (
  request: SeenRequest & { readonly message: JSONRPCRequest },
  response: ServerResponse,
  index: number,
) => unknown;

export interface Started extends WatchedTransport {
  readonly server: HostileServer;
  readonly context: TestContext & NetworkContext;
  readonly errors: readonly Error[];
  /** Sends a request; resolves as `send` does. */
  send(method: string, params?: Record<string, unknown>, options?: TransportSendOptions): Promise<void>;
  notify(method: string, params?: Record<string, unknown>): Promise<void>;
  /** Sends a request that fails; resolves with its failure. */
  fail(method?: string, params?: Record<string, unknown>, options?: TransportSendOptions): Promise<ToolServerError>;
}

type Changes = Omit<NetworkChanges, "credential">;

/** A server with this handler, and a started transport to it. Both end with the test. */
export async function startTransport(
  handler: McpHandler,
  changes: Changes = {},
  credentialOf?: (secrets: TestContext["secrets"]) => Credential,
): Promise<Started> {
  const server = await startHostileServer((request, response, index) => {
    const message = request.body === "" ? {} : JSON.parse(request.body);
    return handler({ ...request, message }, response, index);
  });
  const network = createNetworkContext("http", server.url, changes);
  const context = credentialOf === undefined ? network : { ...network, credential: credentialOf(network.secrets) };
  const transport = createStreamableHttpTransport(context);
  const watched = watchTransport(transport, context);
  const errors: Error[] = [];
  let lastId = 0;
  transport.onerror = (error) => void errors.push(error);
  await transport.start();
  const send = (
    method: string,
    params: Record<string, unknown> = {},
    options?: TransportSendOptions,
  ): Promise<void> => {
    lastId += 1;
    return transport.send({ jsonrpc: "2.0", id: lastId, method, params }, options);
  };
  return {
    ...watched,
    server,
    context,
    errors,
    send,
    notify: (method, params) => transport.send({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) }),
    fail: (method = "tools/call", params = {}, options) => failureOf(send(method, params, options)),
  };
}

/** The response to a request, as JSON. */
export function resultOf({ id }: JSONRPCRequest, result: Record<string, unknown> = {}): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}

export function respondJson(response: ServerResponse, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(200, { "content-type": "application/json", ...headers }).end(body);
}

/** Starts an event stream, and writes these events. */
export function respondEvents(response: ServerResponse, ...events: readonly string[]): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  for (const event of events) response.write(event);
  return response;
}

/** A handler that responds to every request like a working server of the older era with sessions, except for those that `over` handles. */
export function serveWell(over: McpHandler = () => {}): McpHandler {
  return (request, response, index) => {
    over(request, response, index);
    if (response.headersSent || response.destroyed || response.writableEnded || response.listenerCount("held") > 0)
      return;
    const { method, message } = request;
    if (method === "GET") response.writeHead(405).end();
    else if (method === "DELETE" || message.id === undefined) response.writeHead(202).end();
    else if (message.method === "server/discover") response.writeHead(400).end("Bad Request: no session");
    else if (message.method === "initialize")
      respondJson(response, resultOf(message, initializeResult), { "mcp-session-id": "session-0123456789" });
    else respondJson(response, resultOf(message));
  };
}

/** Marks a response that is sent later, or never. */
export function hold(response: ServerResponse): void {
  response.on("held", () => {});
}

export const initializeResult = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  serverInfo: { name: "test", version: "1" },
};
