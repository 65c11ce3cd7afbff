import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import type { JSONRPCRequest } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../clock.js";
import { channelPrefix, createReporter } from "../diagnostics.js";
import { startHostileServer } from "../http/hostile-http-server.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import type { ClientSettings, MessageOrigin } from "./client-settings.js";
import type { Connection } from "./connection.js";
import { createConnection } from "./create-connection.js";
import {
  createMemoryConnection,
  createMemoryServer,
  type MemoryServer,
  transportFailure,
} from "./memory-server.test.helper.js";
import { Call } from "./rpc/call.js";
import type { RpcObject } from "./rpc/json-rpc.js";
import type { RelatedCall } from "./rpc/peer.js";
import { hold, respondEvents, respondJson, resultOf, serveWell } from "./transports/streamable-http.test.helper.js";
import { createStreamableHttpTransport } from "./transports/streamable-http-transport.js";
import { createNetworkContext } from "./transports/transport-context.test.helper.js";

const event = (message: object): string => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
const info = { name: "test", version: "0" };
const echo = (text: string) => ({ name: "echo", arguments: { text } });

/** A server that, during each call, sends a notification and a request on the stream of the call, and returns the reply. */
async function connect(settings: Omit<ClientSettings, "info">): Promise<Connection> {
  const calls = new Map<string, { response: ServerResponse; id: JSONRPCRequest["id"] }>();
  const serve = serveWell(({ message }, response) => {
    const { id, method, params, result } = message as JSONRPCRequest & { result?: { reply?: string } };
    if (method === "tools/call") {
      calls.set(`ask-${id}`, { response, id });
      respondEvents(
        response,
        event({ method: "notifications/message", params: { level: "info", data: params?.name } }),
        event({ id: `ask-${id}`, method: "elicitation/create", params: { message: params?.name } }),
      );
    } else if (method === undefined) {
      const call = calls.get(String(id));
      response.writeHead(202).end();
      call?.response.end(
        event({ id: call.id, result: { content: [{ type: "text", text: result?.reply ?? "nothing" }] } }),
      );
    }
  });
  const server = await startHostileServer((request, response, index) =>
    serve({ ...request, message: request.body === "" ? {} : JSON.parse(request.body) }, response, index),
  );
  return connectTo(server.url, settings);
}

function connectTo(url: URL, settings: Omit<ClientSettings, "info"> = {}): Connection {
  const context = createNetworkContext("http", url);
  const connection = createConnection({
    info: context.info.connection,
    openTransport: () => ({ transport: createStreamableHttpTransport(context), info: context.info }),
    settings: { info, ...settings },
    report: createReporter(context.secrets),
    redact: context.secrets.redact,
    clock: systemClock,
    dispose: () => context.http.close(),
  });
  onTestFinished(() => connection.close());
  return connection;
}

/** A call that remembers its progress. */
class TestCall extends Call {
  readonly progress: unknown[] = [];

  override onProgress(progress: RpcObject): void {
    this.progress.push(progress);
  }
}

interface Sent {
  readonly call: TestCall;
  readonly result: Promise<RpcObject>;
}

function send(connection: Connection, method: string, params: RpcObject = {}): Sent {
  const call = new TestCall({ id: 1, method, params }, "legacy");
  return { call, result: connection.send(call, { method, params }) };
}

const nameOf = (call: RelatedCall): unknown => (call instanceof Call ? call.params.name : call);

test("reports what a server sends on the stream of a call with that call", async () => {
  const heard: [unknown, unknown][] = [];
  const connection = await connect({
    capabilities: { elicitation: {} },
    onNotification: ({ params }, { call }) => void heard.push([params?.data, nameOf(call)]),
    onRequest: async ({ params }, { call }) => ({ reply: `${params?.message} for ${nameOf(call)}` }),
  });
  const callOf = async (name: string): Promise<unknown> => {
    const { content } = await send(connection, "tools/call", { name }).result;
    return (content as { text: string }[])[0]?.text;
  };
  const names = Array.from({ length: 20 }, (_, index) => `call-${index}`);
  expect(await Promise.all(names.map(callOf))).toEqual(names.map((name) => `${name} for ${name}`));
  expect(heard).toHaveLength(20);
  for (const [name, call] of heard) expect(call).toBe(name);
});

test("does not report a call by a typed method", async () => {
  const origins: MessageOrigin[] = [];
  const connection = await connect({
    capabilities: { elicitation: {} },
    onRequest: async (_, origin) => {
      origins.push(origin);
      return {};
    },
  });
  await connection.callTool({ name: "a" });
  expect(origins.map(({ call }) => call)).toEqual([undefined]);
});

test("assigns messages over a socket that all calls share to no call", async () => {
  const origins: MessageOrigin[] = [];
  const settings = { info, onNotification: (_: unknown, origin: MessageOrigin) => void origins.push(origin) };
  const { server, connection } = createMemoryConnection({ settings, clock: systemClock });
  const params = { name: "wait", arguments: {} };
  const { result } = send(connection, "tools/call", params);
  await expect.poll(() => server.runs, waiting).toBe(1);
  await server.server.server.notification({ method: "notifications/tools/list_changed" });
  await expect.poll(() => origins.length, waiting).toBe(1);
  expect(origins[0]?.call).toBeUndefined();
  expect(origins[0]?.info.connection).toBe(server.info);
  server.release();
  expect(await result).toEqual({ content: [{ type: "text", text: "released" }] });
});

/** The ids that the first requests of a connection have. */
const firstIds = [1, 2, 3, 4, 5, 6];

describe("a request that is sent for a call", () => {
  function connectTo(server: MemoryServer): Connection {
    const redact = (text: string): string => text.replaceAll("s3cret", "[redacted]");
    return createMemoryConnection({ redact, clock: systemClock, random: () => 0 }, server).connection;
  }
  const callTool = (connection: Connection, name: string, args: object = {}): Sent =>
    send(connection, "tools/call", { name, arguments: args });
  const rejection = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => undefined,
      (error: unknown) => error,
    );

  test("connects at the first call, and returns the result unchanged", async () => {
    const connection = connectTo(createMemoryServer());
    const { result } = callTool(connection, "echo", { text: "hello" });
    expect(await result).toEqual({ content: [{ type: "text", text: "hello" }] });
    expect(connection.state).toBe("READY");
  });

  test("gets the progress of its call, and no response of another", async () => {
    const server = createMemoryServer();
    const connection = connectTo(server);
    const slow = callTool(connection, "wait");
    await expect.poll(() => server.runs, waiting).toBe(1);
    for (const progressToken of firstIds) {
      const params = { progressToken, progress: 1, total: 2 };
      await server.server.server.notification({ method: "notifications/progress", params });
    }
    await expect.poll(() => slow.call.progress, waiting).toEqual([{ progress: 1, total: 2 }]);
    expect((await connection.callTool(echo("a"))).content).toEqual([{ type: "text", text: "a" }]);
    server.release();
    expect(await slow.result).toEqual({ content: [{ type: "text", text: "released" }] });
  });

  test("rejects with CALL_REFUSED and the server's code if the server refuses a request", async () => {
    const connection = connectTo(createMemoryServer());
    const error = await rejection(send(connection, "nothing/here").result);
    expect(error).toMatchObject({ code: "CALL_REFUSED", details: { rpcCode: -32_601 } });
  });

  test("rejects a cancelled request at once, and notifies the server", async () => {
    const server = createMemoryServer();
    const connection = connectTo(server);
    const cancelled = new Promise((resolve) => {
      server.onCancelled = resolve;
    });
    const sent = callTool(connection, "wait");
    await expect.poll(() => server.runs, waiting).toBe(1);
    sent.call.cancel();
    expect(await rejection(sent.result)).toMatchObject({ code: "CALL_CANCELLED" });
    await cancelled;
  });

  test("ends a cancelled request although the server never responds: nothing waits for it, and late messages belong to no caller", async () => {
    const server = createMemoryServer();
    const connection = connectTo(server);
    const ended: string[] = [];
    const count = (kind: string) => (): void => void ended.push(kind);
    const [succeeded, failed] = [count("succeeded"), count("failed")];
    subscribe(`${channelPrefix}transport:call-succeeded`, succeeded);
    subscribe(`${channelPrefix}transport:call-failed`, failed);
    onTestFinished(() => {
      unsubscribe(`${channelPrefix}transport:call-succeeded`, succeeded);
      unsubscribe(`${channelPrefix}transport:call-failed`, failed);
    });
    await connection.connect();
    ended.length = 0;
    const sent = callTool(connection, "wait");
    await expect.poll(() => server.runs, waiting).toBe(1);
    sent.call.cancel();
    await rejection(sent.result);
    // An SDK server sends nothing more about it, as the protocol requires.
    expect(ended).toEqual(["failed"]);
    for (const progressToken of firstIds) {
      await server.server.server.notification({
        method: "notifications/progress",
        params: { progressToken, progress: 1 },
      });
    }
    expect((await connection.callTool(echo("a"))).content).toEqual([{ type: "text", text: "a" }]);
    expect(sent.call.progress).toEqual([]);
    expect(ended).toEqual(["failed", "succeeded"]);
  });

  test("rejects a request that is cancelled for a reason with the reason", async () => {
    const server = createMemoryServer();
    const sent = callTool(connectTo(server), "wait");
    await expect.poll(() => server.runs, waiting).toBe(1);
    sent.call.cancel(transportFailure("CALL_TIMEOUT", true));
    expect(await rejection(sent.result)).toMatchObject({ code: "CALL_TIMEOUT" });
  });

  test("sends a request that never reached the server once more, but not one that may have", async () => {
    const server = createMemoryServer();
    const connection = connectTo(server);
    await connection.connect();
    server.sendFailure = transportFailure("CONNECTION_LOST", false);
    await callTool(connection, "echo", { text: "a" }).result;
    expect(server.runs).toBe(1);
    server.sendFailure = transportFailure("CONNECTION_LOST", true);
    const error = await rejection(callTool(connection, "echo", { text: "a" }).result);
    expect(error).toMatchObject({ code: "CONNECTION_LOST" });
    expect(server.runs).toBe(1);
  });

  test("sends a request again in a new session if the transport has failed, although its end is reported later", async () => {
    const server = createMemoryServer();
    const { connection } = createMemoryConnection({ clock: systemClock }, server);
    await connection.connect();
    server.dieSlowly(transportFailure("CONNECTION_LOST", true));
    await callTool(connection, "echo", { text: "a" }).result;
    expect([server.runs, server.opened]).toEqual([1, 2]);
  });

  test("rejects a request in flight with the reason when the transport ends", async () => {
    const server = createMemoryServer();
    const connection = connectTo(server);
    const { result } = callTool(connection, "wait");
    await expect.poll(() => server.runs, waiting).toBe(1);
    server.die(transportFailure("CHILD_EXITED", true));
    expect(await rejection(result)).toMatchObject({ code: "CHILD_EXITED" });
  });

  test("rejects a request in flight with CONNECTION_CLOSED when the connection is closed", async () => {
    const server = createMemoryServer();
    const connection = connectTo(server);
    const { result } = callTool(connection, "wait");
    await expect.poll(() => server.runs, waiting).toBe(1);
    const failed = rejection(result);
    await connection.close();
    expect(await failed).toMatchObject({ code: "CONNECTION_CLOSED" });
  });
});

const discovered = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: "private",
  _meta: { "io.modelcontextprotocol/serverInfo": { name: "test", version: "1" } },
};

test.each([
  ["a modern server by ending its stream alone", discovered, []],
  ["a legacy server by a message too", undefined, ["notifications/cancelled"]],
])("cancels a call over HTTP at %s", async (_, discover, expected) => {
  const methods: string[] = [];
  let held: ServerResponse | undefined;
  const serve = serveWell(({ message }, response) => {
    if (message.method !== undefined) methods.push(message.method);
    if (message.method === "server/discover" && discover !== undefined)
      respondJson(response, resultOf(message, discover));
    if (message.method !== "tools/call" || message.params?.name !== "wait") return;
    held = response;
    hold(response);
  });
  const server = await startHostileServer((request, response, index) =>
    serve({ ...request, message: request.body === "" ? {} : JSON.parse(request.body) }, response, index),
  );
  const connection = connectTo(server.url);
  const { call, result } = send(connection, "tools/call", { name: "wait" });
  await expect.poll(() => held, waiting).toBeDefined();
  methods.length = 0;
  call.cancel();
  await expect(result).rejects.toMatchObject({ code: "CALL_CANCELLED" });
  await expect.poll(() => held?.destroyed, waiting).toBe(true);
  // Anything that was sent before this has arrived after it.
  await send(connection, "tools/call", { name: "echo" }).result;
  expect(methods.filter((method) => method !== "tools/call")).toEqual(expected);
});
