import type { IncomingHttpHeaders } from "node:http";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  connect,
  type Mode,
  pollOptions,
  post,
  startTestGateway,
  type TestGateway,
  textOf,
} from "../../gateway.test.helper.js";
import { modernListener, serve, serveLegacy } from "../../tool-servers.test.helper.js";
import type { TraceFields } from "../../trace-fields.js";

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const tracestate = "vendor=abc";

/** A server whose tool returns the `_meta` of the call. */
function makeMirror(): McpServer {
  const server = new McpServer({ name: "mirror", version: "1.0.0" });
  server.registerTool("meta", { inputSchema: z.object({}) }, (_, { mcpReq }) => ({
    content: [{ type: "text", text: JSON.stringify(mcpReq._meta ?? {}) }],
  }));
  return server;
}

/** The same over stdio, as a program without dependencies. */
const pipedMirror = `
let text = "";
const response = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
process.stdin.on("data", (chunk) => {
  text += chunk;
  for (let end = text.indexOf("\\n"); end >= 0; end = text.indexOf("\\n")) {
    const { id, method, params } = JSON.parse(text.slice(0, end));
    text = text.slice(end + 1);
    if (method === "initialize") {
      const serverInfo = { name: "piped", version: "1.0.0" };
      response(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo });
    } else if (method === "tools/list") response(id, { tools: [{ name: "meta", inputSchema: { type: "object" } }] });
    else if (method === "tools/call") response(id, { content: [{ type: "text", text: JSON.stringify(params._meta) }] });
    else if (id !== undefined) {
      const error = { code: -32601, message: "Method not found" };
      process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error }) + "\\n");
    }
  }
});`;

interface World extends TestGateway {
  /** The headers of the last call to the modern server. */
  readonly headers: () => IncomingHttpHeaders;
}

async function startWorld(options: Parameters<typeof startTestGateway>[1] = {}): Promise<World> {
  let headers: IncomingHttpHeaders = {};
  const mirror = modernListener(makeMirror);
  const port = await serve((request, response) => {
    if (request.headers["mcp-method"] === "tools/call") headers = request.headers;
    mirror(request, response);
  });
  const gateway = await startTestGateway(
    {
      modern: { type: "http", url: `http://127.0.0.1:${port}/mcp` },
      legacy: { type: "http", url: await serveLegacy(makeMirror) },
      piped: { command: process.execPath, args: ["-e", pipedMirror] },
    },
    options,
  );
  await vi.waitFor(() => {
    expect(gateway.gateway.servers().map(({ tools }) => tools)).toEqual([1, 1, 1]);
  }, pollOptions);
  return { ...gateway, headers: () => headers };
}

async function metaAt(world: World, mode: Mode, server: string, _meta: Record<string, unknown>): Promise<TraceFields> {
  const client = await connect(world, mode);
  return JSON.parse(textOf(await client.callTool({ name: `${server}__meta`, arguments: {}, _meta })));
}

describe("the trace context of a client, without a tracer provider", () => {
  test("forwards the context from legacy and modern clients to legacy, modern and stdio servers", async () => {
    const world = await startWorld();
    for (const mode of ["modern", "legacy"] as const) {
      for (const server of ["modern", "legacy", "piped"]) {
        const meta = await metaAt(world, mode, server, { traceparent, tracestate, "example.com/kept": 1 });
        expect(meta, `${mode} ${server}`).toMatchObject({ traceparent, tracestate, "example.com/kept": 1 });
      }
      expect(world.headers()).toMatchObject({ traceparent, tracestate });
    }
  });

  test("forwards the context if only the headers contain it", async () => {
    const world = await startWorld();
    const envelope = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { name: "modern__meta", arguments: {}, _meta: envelope };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": params.name };
    const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const response = await post(world, request, { ...headers, traceparent, baggage: "user=alice" });
    const text = await response.text();
    const json = text.startsWith("{") ? text : text.slice(text.indexOf("data: ") + 6);
    const meta = JSON.parse(textOf(JSON.parse(json).result));
    expect(meta.traceparent).toBe(traceparent);
    expect(meta).not.toHaveProperty("baggage");
    expect(world.headers().traceparent).toBe(traceparent);
    expect(world.headers()).not.toHaveProperty("baggage");
  });

  test("does not forward an invalid context, and the call succeeds", async () => {
    const world = await startWorld();
    const meta = await metaAt(world, "legacy", "modern", { traceparent: "no\r\nx-evil: 1", tracestate });
    expect(meta).not.toHaveProperty("traceparent");
    expect(meta).not.toHaveProperty("tracestate");
    expect(world.headers()).not.toHaveProperty("traceparent");
    expect(world.headers()).not.toHaveProperty("x-evil");
  });

  test("forwards baggage only if that is enabled", async () => {
    const given = { traceparent, baggage: "user=alice" };
    const without = await startWorld();
    expect(await metaAt(without, "modern", "modern", given)).not.toHaveProperty("baggage");
    const world = await startWorld({ telemetry: { propagators: ["tracecontext", "baggage"] } });
    expect(await metaAt(world, "modern", "modern", given)).toMatchObject(given);
    expect(world.headers().baggage).toBe("user=alice");
  });

  test("does not forward the context if propagation is disabled", async () => {
    const world = await startWorld({ telemetry: { propagators: [] } });
    expect(await metaAt(world, "modern", "piped", { traceparent })).not.toHaveProperty("traceparent");
    expect(await metaAt(world, "legacy", "legacy", { traceparent })).not.toHaveProperty("traceparent");
  });
});
