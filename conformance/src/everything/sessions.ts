import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import type { EventStore, JSONRPCMessage, McpServer } from "@modelcontextprotocol/server";

/** Serves the older era: a server for each session, and streams that can be heard on after they broke off. */
export interface LegacySessions {
  readonly servers: ReadonlySet<McpServer>;
  handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
}

/** The retry time that clients get for a stream, in milliseconds. */
const retryInterval = 500;

export function createLegacySessions(make: () => McpServer): LegacySessions {
  const transports = new Map<string, NodeStreamableHTTPServerTransport>();
  const servers = new Set<McpServer>();
  const begin = async (): Promise<NodeStreamableHTTPServerTransport> => {
    const server = make();
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      eventStore: createEventStore(),
      retryInterval,
      onsessioninitialized: (id) => void transports.set(id, transport),
      onsessionclosed: (id) => void transports.delete(id),
    });
    await server.connect(transport);
    servers.add(server);
    return transport;
  };
  return {
    servers,
    async handle(request, response, body) {
      const id = request.headers["mcp-session-id"];
      const isFirst = (body as { method?: unknown } | undefined)?.method === "initialize";
      const transport = typeof id === "string" ? transports.get(id) : isFirst ? await begin() : undefined;
      if (transport !== undefined) return transport.handleRequest(request, response, body);
      response.writeHead(id === undefined ? 400 : 404, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_001, message: "Session not found" } }),
      );
    },
  };
}

function createEventStore(): EventStore {
  const events: { readonly streamId: string; readonly message: JSONRPCMessage }[] = [];
  const streamOf = (id: string): string | undefined => events[Number(id)]?.streamId;
  return {
    async storeEvent(streamId, message) {
      return String(events.push({ streamId, message }) - 1);
    },
    getStreamIdForEventId: async (id) => streamOf(id),
    async replayEventsAfter(lastId, { send }) {
      const streamId = streamOf(lastId) ?? "";
      for (const [index, event] of events.entries()) {
        const isLater = index > Number(lastId) && event.streamId === streamId;
        if (isLater && Object.keys(event.message).length > 0) await send(String(index), event.message);
      }
      return streamId;
    },
  };
}
