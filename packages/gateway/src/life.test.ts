import { once } from "node:events";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/server";
import { createRegistry } from "@wirescope/channelz";
import { createSecretRegistry } from "@wirescope/tool-server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { configurationOf, connect, pollOptions, post, startTestGateway, textOf } from "./gateway.test.helper.js";
import { createPageAccess } from "./page/page-access.js";
import { runGateway } from "./run-gateway.js";
import { makeEcho, serve, serveLegacy, serveModern, small } from "./tool-servers.test.helper.js";

describe("close", () => {
  async function startHolding() {
    const waiting = new Set<() => void>();
    const url = await serveLegacy(() => {
      const server = new McpServer({ name: "hold", version: "1" }, { capabilities: { tools: {} } });
      server.registerTool("hold", { inputSchema: z.object({}) }, async () => {
        await new Promise<void>((resolve) => waiting.add(resolve));
        return { content: [{ type: "text", text: "held" }] };
      });
      return server;
    });
    const page = { access: createPageAccess(), assets: undefined };
    const gateway = await startTestGateway({ hold: { type: "http", url } }, { page });
    return { gateway, waiting };
  }

  test("waits for a call in flight, accepts nothing new, and leaves no port open", async () => {
    const { gateway, waiting } = await startHolding();
    const client = await connect(gateway, "legacy");
    const held = client.callTool({ name: "hold__hold", arguments: {} });
    await expect.poll(() => waiting.size, pollOptions).toBe(1);
    const closed = gateway.gateway.close({ graceMs: 20_000 });
    await expect
      .poll(async () => (await fetch(`${gateway.url}/readyz`).catch(() => undefined))?.status, pollOptions)
      .not.toBe(200);
    // An open page requests its session, and must not conclude that the session has ended.
    expect((await fetch(`${gateway.url}/session`)).status).toBe(503);
    for (const release of waiting) release();
    expect(textOf(await held)).toBe("held");
    await closed;
    await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow();
  });

  test("accepts the messages that calls in flight may wait for, but no request whose body arrives late", async () => {
    const { gateway, waiting } = await startHolding();
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const begun = await post(gateway, { jsonrpc: "2.0", id: 1, method: "initialize", params });
    const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    const message = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "hold__hold", arguments: {} } };
    const held = post(gateway, message, session);
    await expect.poll(() => waiting.size, pollOptions).toBe(1);
    const authorization = `Bearer ${gateway.token}`;
    const late = request(gateway.endpoint, {
      method: "POST",
      headers: { authorization, "content-type": "application/json", accept: "application/json, text/event-stream" },
    });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 3, method: "initialize", params });
    late.write(body.slice(0, 10));
    const closed = gateway.gateway.close({ graceMs: 600_000 });
    late.end(body.slice(10));
    const [response] = (await once(late, "response")) as [IncomingMessage];
    expect([response.statusCode, await text(response)]).toEqual([503, expect.stringContaining("shutting down")]);
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } };
    expect((await post(gateway, cancelled, session)).status).toBe(202);
    await (await held).text();
    await closed;
  });

  test("cancels calls that do not end in time", async () => {
    const { gateway, waiting } = await startHolding();
    const client = await connect(gateway, "modern");
    const held = client.callTool({ name: "hold__hold", arguments: {} });
    const failed = expect(held).rejects.toThrow();
    await expect.poll(() => waiting.size, pollOptions).toBe(1);
    await gateway.gateway.close({ graceMs: 10 });
    await failed;
  });

  test("does not wait for a cancelled call of a server that never lists its tools", async () => {
    const held: ServerResponse[] = [];
    const port = await serve((_, response) => void held.push(response));
    const url = `http://127.0.0.1:${port}/mcp`;
    const gateway = await startTestGateway({ silent: { type: "http", url } }, { limits: { listMs: 600_000 } });
    const client = await connect(gateway, "legacy");
    const cancelling = new AbortController();
    const call = client.callTool({ name: "silent__any", arguments: {} }, { signal: cancelling.signal });
    const failed = expect(call).rejects.toThrow();
    const inFlight = async (): Promise<string | undefined> => {
      const headers = { authorization: `Bearer ${gateway.token}` };
      const page = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
      return /^wirescope_gateway_calls_in_flight (\d+)$/m.exec(page)?.[1];
    };
    await expect.poll(inFlight, pollOptions).toBe("1");
    cancelling.abort();
    await failed;
    await expect.poll(inFlight, pollOptions).toBe("0");
    await gateway.gateway.close({ graceMs: 600_000 });
  });
});

/** A stdio server with a tool that takes a second. */
const slow = `
  const serverInfo = { name: "slow", version: "1" };
  const results = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo },
    "tools/list": { tools: [{ name: "wait", inputSchema: { type: "object" } }] },
    "tools/call": { content: [] },
  };
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const outcome = results[method] ? { result: results[method] } : { error: { code: -32601, message: "No." } };
    const respond = () => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }) + "\\n");
    setTimeout(respond, method === "tools/call" ? 1000 : 0);
  });
`;

describe("leaks", () => {
  test("leaves no session, stream, call, socket or registry object after many clients", async () => {
    const registry = createRegistry();
    const gateway = await startTestGateway(
      {
        echo: { type: "http", url: await serveModern(makeEcho("echo")) },
        slow: { command: process.execPath, args: ["-e", slow] },
      },
      { registry },
    );
    const metric = async (name: string): Promise<number> => {
      const headers = { authorization: `Bearer ${gateway.token}`, connection: "close" };
      const text = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
      return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
    };
    await expect
      .poll(() => gateway.gateway.servers().every(({ tools }) => tools !== undefined), pollOptions)
      .toBe(true);
    const before = registry.size;
    for (let round = 0; round < 2; round += 1) {
      const clients = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          connect(gateway, index % 2 === 0 ? "modern" : "legacy", {
            listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => {} } },
          }),
        ),
      );
      await Promise.all(
        clients.map(async (client, index) => {
          await client.callTool({ name: "echo__echo", arguments: { text: `${index}` } });
          const controller = new AbortController();
          const call = client.callTool(
            { name: "slow__wait", arguments: {} },
            { signal: controller.signal, onprogress: () => {} },
          );
          const ended = call.catch(() => {});
          if (index % 5 === 0) setImmediate(() => controller.abort());
          else controller.abort();
          await ended;
          // Half of them end their session, and half just disconnect.
          if (client.getProtocolEra() === "legacy" && index % 4 === 1) {
            const transport = client.transport as { terminateSession?: () => Promise<void> } | undefined;
            await transport?.terminateSession?.();
          }
          await client.close();
        }),
      );
    }
    await expect.poll(() => metric("wirescope_gateway_event_streams"), pollOptions).toBe(0);
    await expect.poll(() => metric("wirescope_gateway_listeners"), pollOptions).toBe(0);
    // A client that disconnects does not cancel its call.
    await expect.poll(() => metric("wirescope_gateway_calls_in_flight")).toBe(0);
    expect(await metric("wirescope_gateway_parked_calls")).toBe(0);
    const opened = gateway.events.filter(({ kind }) => kind === "session-opened").length;
    const closed = gateway.events.filter(({ kind }) => kind === "session-closed").length;
    expect(opened).toBe(20);
    expect(closed).toBe(10);
    expect(await metric("wirescope_gateway_sessions")).toBe(10);
    await expect
      .poll(() => {
        const now = registry.size;
        return [now.channels - before.channels, now.servers - before.servers];
      }, pollOptions)
      .toEqual([0, 0]);
    expect(gateway.gateway.servers().map(({ callsInFlight }) => callsInFlight)).toEqual([0, 0]);
  });

  test("leaves nothing in the registry and no child process after close", async () => {
    const registry = createRegistry();
    const gateway = await runGateway({
      configurations: [configurationOf({ all: small })],
      secrets: createSecretRegistry(),
      registry,
    });
    await expect.poll(() => gateway.servers()[0]?.state, pollOptions).toBe("READY");
    await post(
      { endpoint: gateway.endpoint ?? "", token: gateway.token ?? "" },
      { jsonrpc: "2.0", id: 1, method: "ping" },
    );
    await gateway.close({ graceMs: 100 });
    const { channels, subchannels, servers, sockets } = registry.size;
    expect([channels, subchannels, servers, sockets]).toEqual([0, 0, 0, 0]);
  });
});
