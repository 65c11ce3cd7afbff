import type { ServerResponse } from "node:http";
import { serve } from "./tool-servers.test.helper.js";

/** A raw message from the gateway. */
export interface RawMessage {
  readonly id?: number | undefined;
  readonly method?: string | undefined;
  readonly params?: { readonly [key: string]: unknown } | undefined;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string } | undefined;
}

/** Handles one method: returns its result as JSON, or writes to the response itself. That of a notification always does. */
export type RawMethod = (message: RawMessage, response: ServerResponse) => string | undefined;

/** A legacy server with arbitrary responses. */
export interface RawServer {
  readonly entry: { readonly type: "http"; readonly url: string };
  /** The messages from the gateway. */
  readonly seen: readonly RawMessage[];
  /** How many event streams the gateway has open. */
  readonly listening: () => number;
  /** Sends raw text on the event streams, unrelated to a request. */
  say(text: string): void;
}

/** The event that carries a message. */
export const eventOf = (text: string): string => `event: message\ndata: ${text}\n\n`;

const usual: Readonly<Record<string, string>> = {
  initialize: JSON.stringify({
    protocolVersion: "2025-11-25",
    capabilities: {
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      logging: {},
    },
    serverInfo: { name: "raw", version: "1" },
  }),
  "tools/list": '{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}',
  "resources/list": '{"resources":[]}',
  "resources/templates/list": '{"resourceTemplates":[]}',
  "tools/call": '{"content":[{"type":"text","text":"ok"}]}',
};

export async function serveRaw(methods: Readonly<Record<string, RawMethod>> = {}): Promise<RawServer> {
  const seen: RawMessage[] = [];
  const streams = new Set<ServerResponse>();
  const port = await serve((request, response) => {
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      streams.add(response);
      response.once("close", () => streams.delete(response));
      return;
    }
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      const message = JSON.parse(body || "{}") as RawMessage;
      seen.push(message);
      const { id, method = "" } = message;
      if (id === undefined && methods[method] !== undefined) {
        methods[method](message, response);
        return;
      }
      if (id === undefined || method === "" || method === "server/discover") {
        response.writeHead(method === "server/discover" ? 400 : 202).end();
        return;
      }
      const made = methods[method];
      const result = made === undefined ? (usual[method] ?? "{}") : made(message, response);
      if (result === undefined) return;
      const headers = { "content-type": "application/json", "mcp-session-id": "raw" };
      response.writeHead(200, headers).end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
    });
  });
  return {
    entry: { type: "http", url: `http://127.0.0.1:${port}/mcp` },
    seen,
    listening: () => streams.size,
    say(text) {
      for (const stream of streams) stream.write(eventOf(text));
    },
  };
}

/** JSON that is nested so deeply that it can be parsed but not stringified. */
export const abyss: string = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
