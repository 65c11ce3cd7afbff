import type { ServerResponse } from "node:http";
import { metaKeys } from "@wirescope/tool-server/internal";
import { describe, expect, test } from "vitest";
import { connect, type Mode, pollOptions, startTestGateway } from "./gateway.test.helper.js";
import { eventOf } from "./raw-server.test.helper.js";
import { serve } from "./tool-servers.test.helper.js";

/** A server that reports no change of its tools. */
interface SilentServer {
  readonly entries: object;
  tool: string;
  /** How often its tools were listed. */
  readonly lists: number;
  /** How many streams of notifications were opened. */
  readonly opened: number;
  /** Ends the streams of notifications. */
  cut(): void;
}

async function serveSilent(era: Mode): Promise<SilentServer> {
  const streams = new Set<ServerResponse>();
  const server = {
    entries: {},
    tool: "old_tool",
    lists: 0,
    opened: 0,
    cut() {
      for (const stream of streams) stream.end();
    },
  };
  const capabilities = { tools: { listChanged: true } };
  const describing = { capabilities, serverInfo: { name: "silent", version: "1" }, resultType: "complete" };
  const results: Readonly<Record<string, () => object>> = {
    initialize: () => ({ ...describing, protocolVersion: "2025-11-25" }),
    "server/discover": () => ({ ...describing, supportedVersions: ["2026-07-28"], ttlMs: 0, cacheScope: "private" }),
    "tools/call": () => ({ content: [], resultType: "complete" }),
    "tools/list"() {
      server.lists += 1;
      const tools = [{ name: server.tool, inputSchema: { type: "object" } }];
      return { tools, resultType: "complete", ttlMs: 0, cacheScope: "private" };
    },
  };
  const stream = (response: ServerResponse, first: string): void => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(first);
    streams.add(response);
    response.once("close", () => streams.delete(response));
    server.opened += 1;
  };
  const port = await serve(async (request, response) => {
    if (request.method === "GET") return stream(response, ": open\n\n");
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const { id, method = "" } = JSON.parse(body || "{}");
    if (method === "subscriptions/listen") {
      const params = { notifications: { toolsListChanged: true }, _meta: { [metaKeys.subscriptionId]: id } };
      const message = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params };
      return stream(response, eventOf(JSON.stringify(message)));
    }
    const result = method === "server/discover" && era === "legacy" ? undefined : results[method]?.();
    if (id === undefined || result === undefined) return void response.writeHead(id === undefined ? 202 : 400).end();
    response.writeHead(200, {
      "content-type": "application/json",
      ...(era === "legacy" && { "mcp-session-id": "silent" }),
    });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  server.entries = { silent: { type: "http", url: `http://127.0.0.1:${port}/mcp` } };
  return server;
}

describe.each<Mode>(["modern", "legacy"])("a %s server that reports no change", (era) => {
  /** A gateway that has listed the server's tools once, and what a client knows that lists only when it is notified. */
  const start = async () => {
    const server = await serveSilent(era);
    const gateway = await startTestGateway(server.entries);
    await expect.poll(() => [server.opened, gateway.gateway.servers()[0]?.tools], pollOptions).toEqual([1, 1]);
    let known: readonly string[] = [];
    const list = async (): Promise<void> => {
      const { tools } = await client.listTools(undefined, { cacheMode: "refresh" });
      known = tools.map(({ name }) => name);
    };
    const client = await connect(gateway, "legacy", {}, (opened) =>
      opened.setNotificationHandler("notifications/tools/list_changed", list),
    );
    await list();
    expect([known, server.lists]).toEqual([["silent__old_tool"], 1]);
    return { server, gateway: gateway.gateway, client, known: () => known };
  };

  test("loses no tools that it changes while its event stream is cut", async () => {
    const { server, known } = await start();
    server.tool = "new_tool";
    server.cut();
    await expect.poll(known, pollOptions).toEqual(["silent__new_tool"]);
    expect([server.opened, server.lists]).toEqual([2, 2]);
  });

  test("can be called with a tool that it added, and lists its tools seldom for tools that do not exist", async () => {
    const { server, client } = await start();
    const call = (name: string) =>
      client.callTool({ name, arguments: {} }).then(
        () => "called",
        (error: Error) => error.message,
      );
    const missing = await Promise.all(Array.from({ length: 100 }, () => call("silent__missing")));
    for (const message of missing) expect(message).toContain('Tool "silent__missing" does not exist');
    expect(server.lists).toBeLessThan(50);
    server.tool = "new_tool";
    await expect.poll(() => call("silent__new_tool"), pollOptions).toBe("called");
  });

  test("lists its tools again if the user reconnects it while it is connected", async () => {
    const { server, gateway, known } = await start();
    server.tool = "new_tool";
    await gateway.reconnect("silent");
    await expect.poll(known, pollOptions).toEqual(["silent__new_tool"]);
    expect([server.opened, server.lists]).toEqual([1, 2]);
  });
});
