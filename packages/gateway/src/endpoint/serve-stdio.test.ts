import { PassThrough } from "node:stream";
import { Client, type ClientOptions, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { GatewayEvent } from "../events.js";
import type { Gateway } from "../gateway.js";
import { type Mode, pollOptions, startTestGateway, textOf } from "../gateway.test.helper.js";
import { makeEcho, serveLegacy, serveModern } from "../tool-servers.test.helper.js";

/** Pipes to a gateway, and the messages that it wrote. */
interface Pipes {
  readonly gateway: Gateway;
  readonly input: PassThrough;
  readonly lines: JSONRPCMessage[];
  readonly closed: Promise<void>;
  onLine: ((message: JSONRPCMessage) => void) | undefined;
}

async function open(entries: object, options: Parameters<typeof startTestGateway>[1] = {}): Promise<Pipes> {
  const { gateway } = await startTestGateway(entries, { listen: false, ...options });
  expect(gateway.url).toBeUndefined();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const { closed } = gateway.serveStdio(input, output);
  const pipes: Pipes = { gateway, input, lines: [], closed, onLine: undefined };
  let rest = "";
  output.on("data", (chunk) => {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const message = JSON.parse(part) as JSONRPCMessage;
      pipes.lines.push(message);
      pipes.onLine?.(message);
    }
  });
  return pipes;
}

/** An SDK client over the pipes. */
async function connectOver(
  pipes: Pipes,
  mode: Mode,
  options: ClientOptions = {},
  prepare = (_: Client): void => {},
): Promise<Client> {
  const transport: Transport = {
    start: async () => {
      pipes.onLine = (message) => transport.onmessage?.(message);
    },
    send: async (message) => void pipes.input.write(`${JSON.stringify(message)}\n`),
    close: async () => {
      pipes.input.end();
      transport.onclose?.();
    },
  };
  const client = new Client(
    { name: "pipes", version: "1" },
    { versionNegotiation: { mode: mode === "modern" ? "auto" : "legacy" }, ...options },
  );
  prepare(client);
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

describe.each<Mode>(["legacy", "modern"])("a %s client over stdio", (mode) => {
  test("calls tools of legacy and modern servers", async () => {
    const pipes = await open({
      old: { type: "http", url: await serveLegacy(makeEcho("old")) },
      new: { type: "http", url: await serveModern(makeEcho("new")) },
    });
    const client = await connectOver(pipes, mode);
    expect(client.getProtocolEra()).toBe(mode);
    // On a busy machine, a server may connect later than a client waits for its list.
    const toolNames = async () =>
      (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name);
    await expect.poll(toolNames, pollOptions).toEqual(["old__echo", "new__echo"]);
    const texts = await Promise.all(
      ["old", "new"].map(async (name) =>
        textOf(await client.callTool({ name: `${name}__echo`, arguments: { text: "a" } })),
      ),
    );
    expect(texts).toEqual(["old: a", "new: a"]);
    await client.close();
    await pipes.closed;
  });

  test("sends progress, forwards server requests, and cancels a call", async () => {
    let isWaiting = false;
    let cancelled = false;
    const url = await serveLegacy(() => {
      const server = new McpServer({ name: "rich", version: "1" }, { capabilities: { tools: {} } });
      server.registerTool("ask", { inputSchema: z.object({}) }, async (_, context) => {
        const progressToken = context.mcpReq._meta?.progressToken ?? 0;
        await context.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1 } });
        const reply = await context.mcpReq.send({
          method: "elicitation/create",
          params: { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } },
        });
        return { content: [{ type: "text", text: reply.action }] };
      });
      server.registerTool("wait", { inputSchema: z.object({}) }, (_, context) => {
        isWaiting = true;
        return new Promise((resolve) => {
          context.mcpReq.signal.addEventListener("abort", () => {
            cancelled = true;
            resolve({ content: [] });
          });
        });
      });
      return server;
    });
    const pipes = await open({ rich: { type: "http", url } });
    const client = await connectOver(pipes, mode, { capabilities: { elicitation: { form: {} } } }, (prepared) =>
      prepared.setRequestHandler("elicitation/create", async () => ({ action: "decline" })),
    );
    const progress: number[] = [];
    const result = await client.callTool(
      { name: "rich__ask", arguments: {} },
      { onprogress: (update) => void progress.push(update.progress) },
    );
    expect(textOf(result)).toBe("decline");
    expect(progress).toContain(1);
    const controller = new AbortController();
    const call = client.callTool({ name: "rich__wait", arguments: {} }, { signal: controller.signal });
    const failed = expect(call).rejects.toThrow();
    await expect.poll(() => isWaiting, pollOptions).toBe(true);
    controller.abort();
    await failed;
    await expect.poll(() => cancelled, pollOptions).toBe(true);
  });

  test("notifies the client of changed lists", async () => {
    const made: McpServer[] = [];
    const url = await serveLegacy(() => {
      const server = makeEcho("echo")("legacy");
      made.push(server);
      return server;
    });
    const pipes = await open({ echo: { type: "http", url } });
    let changes = 0;
    const client = await connectOver(pipes, mode, {
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => (changes += 1) } },
    });
    await client.listTools();
    changes = 0;
    made[0]?.registerTool("more", { inputSchema: z.object({}) }, () => ({ content: [] }));
    await expect.poll(() => changes, pollOptions).toBeGreaterThan(0);
  });
});

test("sends an error for an invalid line, and serves the others", async () => {
  const refused: unknown[] = [];
  const onEvent = (event: GatewayEvent): void => void (event.kind === "refused" && refused.push(event.limit));
  const { input, lines } = await open({}, { limits: { messageBytes: 1000 }, onEvent });
  input.write('not json\n{"a":1}\n\n');
  input.write(`{"x":"${"y".repeat(2000)}"}\n`);
  input.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
  await expect.poll(() => lines.length, pollOptions).toBe(4);
  expect(lines).toMatchObject([
    { id: null, error: { code: -32_700 } },
    { id: null, error: { code: -32_600 } },
    { id: null, error: { code: -32_600 } },
    { id: 1, error: { message: "Send initialize first." } },
  ]);
  expect(refused).toEqual(["message-bytes"]);
});

/** A server whose tool ends when it is cancelled. */
async function serveHanging(): Promise<{ readonly entry: object; readonly calls: { isAborted: boolean }[] }> {
  const calls: { isAborted: boolean }[] = [];
  const url = await serveModern(() => {
    const server = new McpServer({ name: "hang", version: "1" }, { capabilities: { tools: {} } });
    server.registerTool("hang", { inputSchema: z.object({}) }, (_, context) => {
      const call = { isAborted: false };
      calls.push(call);
      return new Promise((resolve) => {
        context.mcpReq.signal.addEventListener("abort", () => {
          call.isAborted = true;
          resolve({ content: [] });
        });
      });
    });
    return server;
  });
  return { entry: { type: "http", url }, calls };
}

/** A modern message, as a line. */
function modernLine(id: number, method: string, params: object = {}): string {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "pipes", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return `${JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } })}\n`;
}

test("disconnects a client that ends its input, and cancels its call", async () => {
  const { entry, calls } = await serveHanging();
  const pipes = await open({ hang: entry });
  const client = await connectOver(pipes, "legacy");
  const call = client.callTool({ name: "hang__hang", arguments: {} }).catch(() => {});
  await expect.poll(() => calls.length, pollOptions).toBe(1);
  pipes.input.end();
  await pipes.closed;
  await expect.poll(() => calls[0]?.isAborted, pollOptions).toBe(true);
  await client.close();
  await call;
});

test("cancels a modern request whose id was used before, by a request that was cancelled", async () => {
  const { entry, calls } = await serveHanging();
  const { input, lines } = await open({ hang: entry });
  const call = modernLine(5, "tools/call", { name: "hang__hang", arguments: {} });
  const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}\n';
  input.write(call);
  await expect.poll(() => calls.length, pollOptions).toBe(1);
  input.write(cancel + call);
  await expect.poll(() => calls.map(({ isAborted }) => isAborted), pollOptions).toEqual([true, false]);
  input.write(cancel);
  await expect.poll(() => calls[1]?.isAborted, pollOptions).toBe(true);
  expect(lines).toEqual([]);
});

test("counts subscriptions towards clientRate", async () => {
  const { input, lines } = await open({}, { limits: { clientRate: 1 } });
  const params = { notifications: { toolsListChanged: true } };
  // Twice the rate are allowed at once.
  input.write([1, 2, 3].map((id) => modernLine(id, "subscriptions/listen", params)).join(""));
  await expect.poll(() => lines.length, pollOptions).toBe(3);
  expect(lines.filter((line) => "error" in line)).toMatchObject([{ id: 3, error: { data: { reason: "OVERLOADED" } } }]);
});

test("refuses requests while the gateway shuts down, and finishes those in flight", async () => {
  const { entry, calls } = await serveHanging();
  const { gateway, input, lines, closed } = await open({ hang: entry });
  input.write(modernLine(1, "tools/call", { name: "hang__hang", arguments: {} }));
  await expect.poll(() => calls.length, pollOptions).toBe(1);
  const closing = gateway.close({ graceMs: pollOptions.timeout });
  input.write(modernLine(2, "tools/list"));
  input.write('{"jsonrpc":"2.0","id":3,"method":"tools/list"}\n');
  await expect.poll(() => lines.length, pollOptions).toBe(2);
  const error = { message: "The gateway is shutting down." };
  expect(lines).toMatchObject([
    { id: 2, error },
    { id: 3, error },
  ]);
  expect(calls).toEqual([{ isAborted: false }]);
  input.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n');
  await closing;
  await closed;
});
