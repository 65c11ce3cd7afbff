import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import {
  type NodeIncomingMessageLike,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  type EventStore,
  fromJsonSchema,
  type JSONRPCMessage,
  type McpHttpHandler,
  McpServer,
} from "@modelcontextprotocol/server";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../free-port.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { Peer } from "../rpc/peer.js";
import { callTool, everything, startServer } from "./published-server.test.helper.js";
import { createStreamableHttpTransport } from "./streamable-http-transport.js";
import { createNetworkContext, listenTo, type Published } from "./transport-context.test.helper.js";

interface Connected {
  readonly client: Client;
  readonly published: Published;
  /** Closes the client and its sockets; fails if anything is left. */
  end(): Promise<void>;
}

async function connectTo(url: URL | string, options: ClientOptions = {}): Promise<Connected> {
  const context = createNetworkContext("http", url, { headers: [{ "X-API-Key": "k3y-of-the-test" }] });
  const published = listenTo(context.info);
  const client = new Client(
    { name: "wirescope-test", version: "0.0.0" },
    { versionNegotiation: { mode: "auto" }, ...options },
  );
  onTestFinished(() => client.close());
  const transport = createStreamableHttpTransport(context);
  // Gives the client the messages that arrive in one read one after the other, as every session does.
  const { clientTransport } = new Peer(transport, () => {});
  transport.onclose = () => clientTransport.onclose?.();
  await client.connect(clientTransport);
  return {
    client,
    published,
    async end() {
      await client.close();
      await context.http.close();
      const totals = published.totals();
      expect(totals.opened).toBeGreaterThan(0);
      expect(totals.closed).toBe(totals.opened);
      expect(totals["stream-succeeded"] + totals["stream-failed"]).toBe(totals["stream-started"]);
    },
  };
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

const handlerOf = (handler: McpHttpHandler): Handler => {
  const handle = toNodeHandler(handler);
  return (request, response) => handle(request as NodeIncomingMessageLike, response);
};

/** Serves until the test is over. */
async function serve(handler: Handler): Promise<{ url: URL; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    void handler(request, response);
  });
  server.listen(0, "localhost");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: new URL(`http://localhost:${(server.address() as AddressInfo).port}/mcp`), requests };
}

describe("server-everything", () => {
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    url = `http://localhost:${port}/mcp`;
    return startServer([everything, "streamableHttp"], port, "SIGKILL");
  });

  test("gets responses over Streamable HTTP: tools, progress, server requests, and unsolicited messages", async () => {
    const capabilities = { sampling: {}, roots: {} };
    const { client, published, end } = await connectTo(url, { capabilities });
    client.setRequestHandler("sampling/createMessage", () => ({
      role: "assistant",
      model: "test",
      content: { type: "text", text: "sampled" },
    }));
    client.setRequestHandler("roots/list", () => ({ roots: [] }));
    expect(client.getProtocolEra()).toBe("legacy");
    expect(client.getServerVersion()?.name).toContain("everything");
    expect((await client.listTools()).tools.length).toBeGreaterThan(5);
    const texts = await Promise.all(
      Array.from({ length: 50 }, (_, index) => callTool(client, "echo", { message: `mark ${index}` })),
    );
    expect(texts).toEqual(Array.from({ length: 50 }, (_, index) => `Echo: mark ${index}`));

    const progress: number[] = [];
    await client.callTool(
      { name: "trigger-long-running-operation", arguments: { duration: 0.1, steps: 3 } },
      { onprogress: (step) => progress.push(step.progress) },
    );
    expect(progress).toEqual([1, 2, 3]);

    expect(await callTool(client, "trigger-sampling-request", { prompt: "p", maxTokens: 5 })).toContain("sampled");
    expect(published.words()).toContain("The server started a session.");
    await end();
    expect(published.totals()["message-received"]).toBeGreaterThan(55);
  });

  test("reports SESSION_LOST if server-everything forgets a session and says so with 400", async () => {
    const context = createNetworkContext("http", url);
    const transport = createStreamableHttpTransport(context);
    onTestFinished(() => transport.close());
    await transport.start();
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    await transport.send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    const { status } = await fetch(url, { method: "DELETE", headers: { "mcp-session-id": transport.sessionId ?? "" } });
    expect(status).toBe(200);
    await expect(transport.send({ jsonrpc: "2.0", id: 2, method: "tools/list" })).rejects.toMatchObject({
      code: "SESSION_LOST",
      details: { status: 400, wasSent: false },
    });
  });
});

/** An SDK server with an echo, a tool that hangs, and one that reports progress. */
function createTestServer(onHang: (signal: AbortSignal) => void = () => {}): McpServer {
  const server = new McpServer({ name: "test", version: "1" }, { capabilities: { tools: { listChanged: true } } });
  const textSchema = { type: "string", "x-mcp-header": "Text" } as const;
  const inputSchema = fromJsonSchema<{ text?: string }>({
    type: "object",
    properties: { text: textSchema },
  });
  server.registerTool("echo", { inputSchema }, ({ text = "" }) => ({ content: [{ type: "text", text }] }));
  server.registerTool("hang", { inputSchema }, (_, { mcpReq }) => {
    onHang(mcpReq.signal);
    return new Promise(() => {});
  });
  server.registerTool("steps", { inputSchema }, async ({ text = "" }, { mcpReq, http }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= 3; progress += 1) {
      if (progressToken !== undefined)
        await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress } });
      // In the older era, in which events are stored: the rest has to be requested.
      if (progress === 2) http?.closeSSE?.();
    }
    return { content: [{ type: "text", text }] };
  });
  return server;
}

describe("an SDK server in the newer era", () => {
  test.each(["json", "sse"] as const)(
    "gets responses as %s, with the headers that the newer era requires",
    async (responseMode) => {
      const handler = createMcpHandler(() => createTestServer(), { responseMode });
      onTestFinished(() => handler.close());
      const { url, requests } = await serve(handlerOf(handler));
      const { client, end } = await connectTo(url);
      expect(client.getProtocolEra()).toBe("modern");
      await client.listTools();
      expect(await callTool(client, "echo", { text: "grüße" })).toBe("grüße");
      const call = requests.findLast(({ headers }) => headers["mcp-method"] === "tools/call");
      expect(call?.headers).toMatchObject({
        "mcp-name": "echo",
        "mcp-protocol-version": "2026-07-28",
        "mcp-param-text": `=?base64?${Buffer.from("grüße").toString("base64")}?=`,
        "x-api-key": "k3y-of-the-test",
      });
      expect(call?.headers).not.toHaveProperty("mcp-session-id");
      expect(requests.every(({ method }) => method === "POST")).toBe(true);
      await end();
    },
  );

  test("gets progress, and cancels a call by ending its stream", async () => {
    const hanging: AbortSignal[] = [];
    const handler = createMcpHandler(() => createTestServer((signal) => hanging.push(signal)));
    onTestFinished(() => handler.close());
    const { url } = await serve(handlerOf(handler));
    const { client, end } = await connectTo(url);
    const progress: number[] = [];
    await client.callTool({ name: "steps", arguments: {} }, { onprogress: (step) => progress.push(step.progress) });
    expect(progress).toEqual([1, 2, 3]);
    const controller = new AbortController();
    const call = client.callTool({ name: "hang", arguments: {} }, { signal: controller.signal });
    await vi.waitFor(() => expect(hanging).toHaveLength(1), waiting);
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    await vi.waitFor(() => expect(hanging[0]?.aborted).toBe(true), waiting);
    await end();
  });

  test("gets change notifications, and errors with a 4xx status", async () => {
    const handler = createMcpHandler(() => createTestServer());
    onTestFinished(() => handler.close());
    const { url } = await serve(handlerOf(handler));
    let changes = 0;
    const onChanged = (): void => {
      changes += 1;
    };
    const { client, end } = await connectTo(url, {
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
    });
    handler.notify.toolsChanged();
    await vi.waitFor(() => expect(changes).toBe(1), waiting);
    await expect(client.callTool({ name: "nothing", arguments: {} })).rejects.toMatchObject({ code: -32602 });
    await end();
  });
});

describe("an SDK server in the older era", () => {
  test("uses a stream, resumes a response after a break, and ends the session with a stateful server", async () => {
    const { handler, transports } = createStatefulHandler();
    const { url, requests } = await serve(handler);
    let changes = 0;
    const onChanged = (): void => {
      changes += 1;
    };
    const { client, published, end } = await connectTo(url, {
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
    });
    expect(client.getProtocolEra()).toBe("legacy");
    await vi.waitFor(() => expect(requests.some(({ method }) => method === "GET")).toBe(true), waiting);
    const [entry] = transports.values();
    await vi.waitFor(async () => {
      entry?.server.sendToolListChanged();
      expect(changes).toBeGreaterThan(0);
    }, waiting);

    const progress: number[] = [];
    const result = await client.callTool(
      { name: "steps", arguments: { text: "after the break" } },
      { onprogress: (step) => progress.push(step.progress) },
    );
    expect(result.content).toEqual([{ type: "text", text: "after the break" }]);
    expect(progress).toEqual([1, 2, 3]);
    expect(requests.some(({ headers }) => headers["last-event-id"] !== undefined)).toBe(true);
    expect(published.words()).toContain("A response was cut off");

    for (const { headers } of requests.slice(2))
      expect(headers).toMatchObject({ "mcp-session-id": entry?.transport.sessionId, "x-api-key": "k3y-of-the-test" });
    await end();
    expect(requests.at(-1)?.method).toBe("DELETE");
    expect(published.words()).not.toContain(entry?.transport.sessionId);
  });

  test("[TS-D-HTTP-4] reports a session that the server forgot as SESSION_LOST to every call, which was not sent", async () => {
    const { handler, transports } = createStatefulHandler();
    const { url } = await serve(handler);
    const { client, end } = await connectTo(url);
    await client.listTools();
    transports.clear();
    const calls = await Promise.allSettled(Array.from({ length: 10 }, () => callTool(client, "echo", { text: "x" })));
    for (const call of calls) {
      expect(call).toMatchObject({
        status: "rejected",
        reason: { code: "SESSION_LOST", details: { status: 404, wasSent: false } },
      });
    }
    await end();
  });

  test("accepts that a stateless server has no stream of its own", async () => {
    const handler = createMcpHandler(() => createTestServer());
    onTestFinished(() => handler.close());
    const { url, requests } = await serve(handlerOf(handler));
    const errors: Error[] = [];
    const { client, published, end } = await connectTo(url, { versionNegotiation: { mode: "legacy" } });
    client.onerror = (error) => errors.push(error);
    expect(await callTool(client, "echo", { text: "x" })).toBe("x");
    await vi.waitFor(() => expect(published.words()).toContain("offers no event stream of its own"), waiting);
    expect(requests.some(({ method }) => method === "GET")).toBe(true);
    expect(errors).toEqual([]);
    await end();
  });
});

/** Serves sessions, and stores events for clients that resume. */
function createStatefulHandler() {
  const transports = new Map<string, { transport: NodeStreamableHTTPServerTransport; server: McpServer }>();
  const handler: Handler = async (request, response) => {
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? transports.get(id) : undefined;
    if (known !== undefined) return known.transport.handleRequest(request, response);
    if (id !== undefined) return response.writeHead(404).end();
    const server = createTestServer();
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => `session-${randomUUID()}`,
      eventStore: createEventStore(),
      retryInterval: 10,
      onsessioninitialized: (begun) => void transports.set(begun, { transport, server }),
    });
    await server.connect(transport);
    return transport.handleRequest(request, response);
  };
  return { handler, transports };
}

function createEventStore(): EventStore {
  const events: { id: string; streamId: string; message: JSONRPCMessage }[] = [];
  return {
    async storeEvent(streamId, message) {
      const id = `${streamId}_${events.length}`;
      events.push({ id, streamId, message });
      return id;
    },
    async replayEventsAfter(lastEventId, { send }) {
      const at = events.findIndex(({ id }) => id === lastEventId);
      const streamId = events[at]?.streamId ?? "";
      for (const event of events.slice(at + 1)) if (event.streamId === streamId) await send(event.id, event.message);
      return streamId;
    },
  };
}
