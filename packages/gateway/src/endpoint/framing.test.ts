import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { metaKeys } from "@wirescope/tool-server/internal";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { pollOptions, startTestGateway, type TestGateway } from "../gateway.test.helper.js";
import { eventOf, type RawMessage, type RawServer, serveRaw } from "../raw-server.test.helper.js";

/** How a client frames the body of a request. */
const ways = ["content-length", "chunked"] as const;
type Way = (typeof ways)[number];

const page = "https://page.example";
const limits = { messageBytes: 3000 };

/** What a client receives, without the parts that always differ: the date, the body's framing, and the connection header. */
interface Received {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

type Sent = (body: unknown, headers?: Record<string, string>) => Promise<Received>;

interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

let server: RawServer;
let gateway: TestGateway;
let agent: Agent;

beforeEach(async () => {
  server = await serveRaw({ "tools/call": callTool });
  gateway = await startTestGateway({ raw: server.entry }, { limits, listen: { allowedOrigins: [page] } });
  // The instructions say how many tools it has.
  await expect.poll(() => gateway.gateway.servers()[0]?.tools, pollOptions).toBe(1);
  agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
});

/** Follows its arguments: reports progress before it responds, or never responds. */
function callTool({ id, params }: RawMessage, response: ServerResponse): string | undefined {
  const { arguments: { text = "" } = {}, _meta: { progressToken } = {} } = params as {
    readonly arguments?: { readonly text?: string };
    readonly _meta?: { readonly progressToken?: string | number };
  };
  if (text === "hold") return undefined;
  const result = JSON.stringify({ content: [{ type: "text", text: `said: ${text}` }] });
  if (text !== "progress") return result;
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const progress of [1, 2]) {
    const progressParams = { progressToken, progress, message: "schön 😀" };
    response.write(
      eventOf(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: progressParams })),
    );
  }
  response.end(eventOf(`{"jsonrpc":"2.0","id":${id},"result":${result}}`));
  return undefined;
}

/** Sends a request on a connection that is kept alive. */
function ask(way: Way, { method = "POST", headers = {}, body = "", signal }: Asked): Promise<Received> {
  const hasLength = way === "content-length";
  const framing: Record<string, string> = hasLength || method !== "POST" ? {} : { "transfer-encoding": "chunked" };
  return new Promise((resolve, reject) => {
    const options = { method, agent, signal, headers: { ...headers, ...framing } };
    const asked = httpRequest(gateway.endpoint, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("error", reject);
      response.on("end", () => {
        resolve({ status: response.statusCode, headers: namedHeaders(response), body: text });
      });
    });
    asked.on("error", reject);
    if (!hasLength && body.length > 1) {
      asked.write(body.slice(0, 1));
      asked.end(body.slice(1));
    } else asked.end(body);
  });
}

const byNature = ["date", "connection", "keep-alive", "content-length", "transfer-encoding"];

function namedHeaders({ headers }: IncomingMessage): Received["headers"] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !byNature.includes(name)));
}

/** Sends messages as an authorized client. */
function senderOf(way: Way, more: Record<string, string> = {}): Sent {
  return (body, headers = {}) =>
    ask(way, {
      headers: { ...usualHeaders(), ...more, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
}

const usualHeaders = (): Record<string, string> => ({
  authorization: `Bearer ${gateway.token}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
});

const request = (method: string, params: object = {}, id: number | string = 7) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

const call = (text: string, id?: number | string, more: object = {}) =>
  request("tools/call", { name: "raw__echo", arguments: { text }, ...more }, id);

const initialize = request("initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "raw", version: "1" },
});

/** Sends the same messages in both framings, expects the same responses, and returns them. */
async function both(say: (way: Way) => Promise<Record<string, Received>>): Promise<Record<string, Received>> {
  const [withLength, inChunks] = [await say(ways[0]), await say(ways[1])];
  expect(withLength).toEqual(inChunks);
  return withLength;
}

/** The status and the content type of each response. */
function outlineOf(received: Record<string, Received>): Record<string, string> {
  const outline = ({ status, headers, body }: Received): string =>
    [status, headers["content-type"] ?? "-", /"code":(-\d+)/.exec(body)?.[1] ?? (body === "" ? "empty" : "ok")].join(
      " ",
    );
  return Object.fromEntries(Object.entries(received).map(([name, one]) => [name, outline(one)]));
}

/** How many cancellations the server received. */
const cancelled = (): number => server.seen.filter(({ method }) => method === "notifications/cancelled").length;
const held = (): number =>
  server.seen.filter(({ params }) => (params?.arguments as { text?: string } | undefined)?.text === "hold").length;

test("sends the same responses to a legacy session for bodies with a length and for chunked bodies, from start to end", async () => {
  const received = await both(async (way) => {
    const send = senderOf(way);
    const begun = await send(initialize);
    const session = { "mcp-session-id": String(begun.headers["mcp-session-id"]) };
    expect(session["mcp-session-id"]).toMatch(/^[\w-]{32}$/);
    const steps: Record<string, Received> = {
      initialize: { ...begun, headers: { ...begun.headers, "mcp-session-id": "one" } },
      initialized: await send({ jsonrpc: "2.0", method: "notifications/initialized" }, session),
      response: await send({ jsonrpc: "2.0", id: 1, result: {} }, session),
      list: await send(request("tools/list"), session),
      call: await send(call("schön 😀", "ü"), session),
      progress: await send(call("progress", 8, { _meta: { progressToken: "p" } }), session),
      "no method": await send(request("no/such"), session),
      "no tool": await send(request("tools/call", { name: "none" }), session),
      again: await send(initialize, session),
      "other version": await send(request("ping"), { ...session, "mcp-protocol-version": "1999-01-01" }),
    };
    const before = [held(), cancelled()] as const;
    const pending = send(call("hold", "h"), session);
    await expect.poll(held, pollOptions).toBe(before[0] + 1);
    steps.cancel = await send(
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "h" } },
      session,
    );
    steps.cancelled = await pending;
    await expect.poll(cancelled, pollOptions).toBe(before[1] + 1);
    steps.delete = await ask(way, { method: "DELETE", headers: { ...usualHeaders(), ...session } });
    agent.destroy();
    steps.ended = await send(request("tools/list"), session);
    return steps;
  });
  expect(outlineOf(received)).toEqual({
    initialize: "200 application/json ok",
    initialized: "202 - empty",
    response: "202 - empty",
    list: "200 application/json ok",
    call: "200 application/json ok",
    progress: "200 text/event-stream ok",
    "no method": "200 application/json -32601",
    "no tool": "200 application/json -32602",
    again: "400 application/json -32600",
    "other version": "400 application/json -32000",
    cancel: "202 - empty",
    cancelled: "200 text/event-stream empty",
    delete: "200 - empty",
    ended: "404 application/json -32001",
  });
  expect(JSON.parse(received.call?.body ?? "")).toMatchObject({
    id: "ü",
    result: { content: [{ text: "said: schön 😀" }] },
  });
  expect(received.progress?.body.match(/"progress":\d/g)).toEqual(['"progress":1', '"progress":2']);
  expect(received.progress?.body).toContain("schön 😀");
});

const version = "2026-07-28";
const meta = (more: object = {}) => ({
  [metaKeys.protocolVersion]: version,
  [metaKeys.clientInfo]: { name: "raw", version: "1" },
  [metaKeys.clientCapabilities]: {},
  ...more,
});
const named = (method: string) => ({ "mcp-protocol-version": version, "mcp-method": method });
const calling = { ...named("tools/call"), "mcp-name": "raw__echo" };

test("sends the same responses to a modern client in both framings, and cancels a call it abandons", async () => {
  const received = await both(async (way) => {
    const send = senderOf(way);
    const steps: Record<string, Received> = {
      discover: await send(request("server/discover", { _meta: meta() }), named("server/discover")),
      list: await send(request("tools/list", { _meta: meta() }), named("tools/list")),
      call: await send(call("schön 😀", "ü", { _meta: meta() }), calling),
      progress: await send(call("progress", 8, { _meta: meta({ progressToken: 5 }) }), calling),
      notification: await send(
        { jsonrpc: "2.0", method: "notifications/x", params: { _meta: meta() } },
        named("notifications/x"),
      ),
      "other method": await send(call("x", 9, { _meta: meta() }), { ...calling, "mcp-method": "tools/list" }),
      "no method": await send(request("no/such", { _meta: meta() }), named("no/such")),
      "no envelope": await send(call("x", 9), calling),
      "a response": await send({ jsonrpc: "2.0", id: 1, result: {} }, named("x")),
    };
    const before = [held(), cancelled()] as const;
    const leaving = new AbortController();
    const body = JSON.stringify(call("hold", "h", { _meta: meta() }));
    const pending = ask(way, { headers: { ...usualHeaders(), ...calling }, body, signal: leaving.signal });
    await expect.poll(held, pollOptions).toBe(before[0] + 1);
    leaving.abort();
    await expect(pending).rejects.toThrow("aborted");
    await expect.poll(cancelled, pollOptions).toBe(before[1] + 1);
    return steps;
  });
  expect(outlineOf(received)).toEqual({
    discover: "200 application/json ok",
    list: "200 application/json ok",
    call: "200 application/json ok",
    progress: "200 text/event-stream ok",
    notification: "202 - empty",
    "other method": "400 application/json -32020",
    "no method": "404 application/json -32601",
    "no envelope": "400 application/json -32602",
    "a response": "400 application/json -32000",
  });
});

describe("refused requests", () => {
  test("sends the same HTTP or JSON-RPC error in both framings", async () => {
    const received = await both(async (way) => {
      const send = senderOf(way);
      return {
        "no session": await send(request("tools/list")),
        "wrong session": await send(request("tools/list"), { "mcp-session-id": "none" }),
        "no JSON": await send("{"),
        nothing: await send(""),
        "no message": await send('{"a":1}'),
        batch: await send([initialize]),
        "not UTF-8": await send('{"jsonrpc":"2.0","id":1,"method":"\ud800"}'),
        "other type": await send(initialize, { "content-type": "text/plain" }),
        "no type": await send(initialize, { "content-type": "" }),
        "other accept": await send(initialize, { accept: "application/json" }),
        "as large as it may be": await send(request("ping", { a: "x".repeat(2940) })),
        "too large": await send(request("ping", { a: "x".repeat(3000) })),
        "too large in bytes": await send(request("ping", { a: "€".repeat(1000) })),
      };
    });
    expect(outlineOf(received)).toEqual({
      "no session": "400 application/json -32000",
      "wrong session": "404 application/json -32001",
      "no JSON": "400 application/json -32700",
      nothing: "400 application/json -32700",
      "no message": "400 application/json -32600",
      batch: "400 application/json -32600",
      "not UTF-8": "400 application/json -32000",
      "other type": "415 application/json -32000",
      "no type": "415 application/json -32000",
      "other accept": "406 application/json -32000",
      "as large as it may be": "400 application/json -32000",
      "too large": "413 application/json -32000",
      "too large in bytes": "413 application/json -32000",
    });
  });

  test("sends the same refusal of the guard in both framings, readable for a page on an allowed origin", async () => {
    const received = await both(async (way) => {
      const send = senderOf(way);
      const from = senderOf(way, { origin: page });
      return {
        "no token": await send(initialize, { authorization: "" }),
        "wrong token": await send(initialize, { authorization: "Bearer wrong" }),
        "wrong host": await send(initialize, { host: "evil.example" }),
        "wrong origin": await send(initialize, { origin: "https://evil.example" }),
        "a page": await from(request("tools/list")),
        "a page without a token": await from(initialize, { authorization: "" }),
        "a page with bad JSON": await from("{"),
      };
    });
    const read = Object.values(received).map(({ status, headers }) => [
      status,
      headers["www-authenticate"],
      headers["access-control-allow-origin"],
    ]);
    expect(read).toEqual([
      [401, "Bearer", undefined],
      [401, "Bearer", undefined],
      [403, undefined, undefined],
      [403, undefined, undefined],
      [400, undefined, page],
      [401, "Bearer", page],
      [400, undefined, page],
    ]);
    expect(received["a page"]?.headers["access-control-expose-headers"]).toMatch(/mcp-session-id/i);
  });
});

test("cancels the call of a client that half-closes the connection while it waits, in both framings", async () => {
  const body = JSON.stringify(call("hold", "h", { _meta: meta() }));
  const { hostname, port, host } = new URL(gateway.endpoint);
  for (const way of ways) {
    const before = [held(), cancelled()] as const;
    const framed =
      way === "content-length"
        ? `content-length: ${body.length}\r\n\r\n${body}`
        : `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const headers = Object.entries({ host, ...usualHeaders(), ...calling }).map((pair) => pair.join(": "));
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    const closed = new Promise((resolve) => socket.resume().once("end", resolve));
    socket.write(`POST /mcp HTTP/1.1\r\n${headers.join("\r\n")}\r\n${framed}`);
    await expect.poll(held, pollOptions).toBe(before[0] + 1);
    socket.end();
    await expect.poll(cancelled, pollOptions).toBe(before[1] + 1);
    await closed;
  }
});
