import { Client, SSEClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { pollOptions, startTestGateway, type TestGateway, textOf } from "../gateway.test.helper.js";
import { makeEcho, serveLegacy, serveModern } from "../tool-servers.test.helper.js";

function withToken(token: string): (url: string | URL | Request, init?: RequestInit) => Promise<Response> {
  return (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${token}`);
    return fetch(url, { ...init, headers });
  };
}

async function connectSse({ url, token }: TestGateway, prepare = (_: Client): void => {}): Promise<Client> {
  const client = new Client({ name: "sse", version: "1" }, { capabilities: { elicitation: { form: {} } } });
  prepare(client);
  await client.connect(new SSEClientTransport(new URL(`${url}/sse`), { fetch: withToken(token) }));
  onTestFinished(() => client.close());
  return client;
}

test("serves tool calls from an HTTP+SSE client", async () => {
  const gateway = await startTestGateway({ echo: { type: "http", url: await serveModern(makeEcho("echo")) } });
  const client = await connectSse(gateway);
  expect(textOf(await client.callTool({ name: "echo__echo", arguments: { text: "a" } }))).toBe("echo: a");
  const old = new OldClient({ name: "old-sse", version: "1" });
  const transport = new OldTransport(new URL(`${gateway.url}/sse`), {
    eventSourceInit: { fetch: withToken(gateway.token) },
    requestInit: { headers: { authorization: `Bearer ${gateway.token}` } },
  });
  await old.connect(transport as Parameters<OldClient["connect"]>[0]);
  onTestFinished(() => old.close());
  expect(textOf(await old.callTool({ name: "echo__echo", arguments: { text: "b" } }))).toBe("echo: b");
});

test("sends progress, server requests and list changes over the client's stream", async () => {
  const made: McpServer[] = [];
  const url = await serveLegacy(() => {
    const server = new McpServer({ name: "rich", version: "1" }, { capabilities: { tools: { listChanged: true } } });
    server.registerTool("ask", { inputSchema: z.object({}) }, async (_, context) => {
      const progressToken = context.mcpReq._meta?.progressToken ?? 0;
      await context.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1 } });
      const reply = await context.mcpReq.send({
        method: "elicitation/create",
        params: { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } },
      });
      return { content: [{ type: "text", text: reply.action }] };
    });
    made.push(server);
    return server;
  });
  const gateway = await startTestGateway({ rich: { type: "http", url } });
  let changes = 0;
  const client = await connectSse(gateway, (prepared) => {
    prepared.setRequestHandler("elicitation/create", async () => ({ action: "decline" }));
    prepared.setNotificationHandler("notifications/tools/list_changed", () => {
      changes += 1;
    });
  });
  const progress: number[] = [];
  const onprogress = (update: { progress: number }): void => void progress.push(update.progress);
  expect(textOf(await client.callTool({ name: "rich__ask", arguments: {} }, { onprogress }))).toBe("decline");
  expect(progress).toEqual([1]);
  made[0]?.registerTool("more", { inputSchema: z.object({}) }, () => ({ content: [] }));
  await expect.poll(() => changes, pollOptions).toBeGreaterThan(0);
});

test("ends a session with its stream, and requires a session for messages", async () => {
  const gateway = await startTestGateway({});
  const { url, token } = gateway;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const post = (query: string) => fetch(`${url}/messages${query}`, { method: "POST", headers, body: "{}" });
  expect((await post("?sessionId=none")).status).toBe(404);
  expect((await post("")).status).toBe(404);
  const client = await connectSse(gateway);
  await client.ping();
  expect(gateway.events.filter(({ kind }) => kind === "session-opened")).toHaveLength(1);
  await client.close();
  await expect.poll(() => gateway.events.filter(({ kind }) => kind === "session-closed").length, pollOptions).toBe(1);
});

test("limits the open streams, and frees the slot of a closed one", async () => {
  const gateway = await startTestGateway({}, { limits: { sessions: 2 } });
  const open = async (): Promise<{ status: number; end(): Promise<void> | undefined }> => {
    const headers = { authorization: `Bearer ${gateway.token}`, accept: "text/event-stream" };
    const { status, body } = await fetch(`${gateway.url}/sse`, { headers });
    return { status, end: () => body?.cancel() };
  };
  const [first, second, third] = [await open(), await open(), await open()];
  onTestFinished(() => second.end());
  expect([first, second, third].map(({ status }) => status)).toEqual([200, 200, 503]);
  expect(gateway.events.filter(({ kind }) => kind === "refused")).toMatchObject([{ limit: "sessions" }]);
  await first.end();
  await expect
    .poll(async () => {
      const { status, end } = await open();
      await end();
      return status;
    }, pollOptions)
    .toBe(200);
});
