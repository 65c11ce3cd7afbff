import type { ServerResponse } from "node:http";
import type { JSONRPCRequest } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { createTell } from "../diagnostics/tell.js";
import { startHostileServer } from "../http/hostile-http-server.test.helper.js";
import { systemClock } from "../process/clock.js";
import { createNetworkContext } from "../transports/network-context.test.helper.js";
import { answerEvents, serveWell } from "../transports/streamable-http.test.helper.js";
import { createStreamableHttpTransport } from "../transports/streamable-http-transport.js";
import type { ClientSettings, MessageOrigin } from "./client-settings.js";
import type { Connection } from "./connection.js";
import { createConnection } from "./create-connection.js";
import { createMemoryServer } from "./memory-server.test.helper.js";

const event = (message: object): string => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
const info = { name: "test", version: "0" };

/** A server that, during each call, says and asks something on the stream of the call, and answers with what it was told. */
async function connect(settings: Omit<ClientSettings, "info">): Promise<Connection> {
  const calls = new Map<string, { response: ServerResponse; id: JSONRPCRequest["id"] }>();
  const serve = serveWell(({ message }, response) => {
    const { id, method, params, result } = message as JSONRPCRequest & { result?: { told?: string } };
    if (method === "tools/call") {
      calls.set(`ask-${id}`, { response, id });
      answerEvents(
        response,
        event({ method: "notifications/message", params: { level: "info", data: params?.name } }),
        event({ id: `ask-${id}`, method: "elicitation/create", params: { message: params?.name } }),
      );
    } else if (method === undefined) {
      const call = calls.get(String(id));
      response.writeHead(202).end();
      call?.response.end(
        event({ id: call.id, result: { content: [{ type: "text", text: result?.told ?? "nothing" }] } }),
      );
    }
  });
  const server = await startHostileServer((request, response, index) =>
    serve({ ...request, message: request.body === "" ? {} : JSON.parse(request.body) }, response, index),
  );
  const context = createNetworkContext("http", server.url);
  const connection = createConnection({
    facts: context.facts.connection,
    openTransport: () => ({ transport: createStreamableHttpTransport(context), facts: context.facts }),
    settings: { info, ...settings },
    tell: createTell(context.secrets),
    redact: context.secrets.redact,
    clock: systemClock,
    dispose: () => context.http.close(),
  });
  onTestFinished(() => connection.close());
  return connection;
}

test("what a server says and asks on the stream of a call comes with the mark of that call", async () => {
  const heard: [unknown, object | undefined][] = [];
  const connection = await connect({
    capabilities: { elicitation: {} },
    onNotification: ({ params }, { mark }) => void heard.push([params?.data, mark]),
    onRequest: async ({ params }, { mark }) => ({ told: `${params?.message} for ${(mark as { of: string }).of}` }),
  });
  const call = async (name: string): Promise<unknown> => {
    const mark = { of: name };
    const result = await connection.call(
      "tools/call",
      (client, options) => client.request({ method: "tools/call", params: { name } }, options),
      { mark },
    );
    return (result as { content: { text: string }[] }).content[0]?.text;
  };
  const names = Array.from({ length: 20 }, (_, index) => `call-${index}`);
  expect(await Promise.all(names.map(call))).toEqual(names.map((name) => `${name} for ${name}`));
  expect(heard).toHaveLength(20);
  for (const [name, mark] of heard) expect(mark).toEqual({ of: name });
});

test("a call without a mark is told without one", async () => {
  const origins: MessageOrigin[] = [];
  const connection = await connect({
    capabilities: { elicitation: {} },
    onRequest: async (_, origin) => {
      origins.push(origin);
      return {};
    },
  });
  await connection.callTool({ name: "a" });
  expect(origins.map(({ mark }) => mark)).toEqual([undefined]);
});

test("what a server sends over the one wire that all calls share belongs to no call", async () => {
  const server = createMemoryServer();
  const origins: MessageOrigin[] = [];
  const connection = createConnection({
    facts: server.facts,
    openTransport: () => server.openTransport(),
    settings: { info, onNotification: (_, origin) => void origins.push(origin) },
    tell: () => {},
    redact: (text) => text,
    clock: systemClock,
  });
  onTestFinished(() => connection.close());
  const call = connection.call("tools/call", (client, options) => client.callTool({ name: "wait" }, options), {
    mark: {},
  });
  await expect.poll(() => server.runs).toBe(1);
  await server.server.server.notification({ method: "notifications/tools/list_changed" });
  await expect.poll(() => origins.length).toBe(1);
  expect(origins[0]?.mark).toBeUndefined();
  expect(origins[0]?.facts.connection).toBe(server.facts);
  server.release();
  await call;
});
