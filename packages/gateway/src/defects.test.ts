import { once } from "node:events";
import { createServer } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server, type Http2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import type { Connection, ForwardedRequest, ServerDescription } from "@wirescope/tool-server";
import { expect, onTestFinished, test, vi } from "vitest";
import { type CallObserver, joinObservers } from "./call-observer.js";
import { createAccounts } from "./callers/accounts.js";
import { StatelessCall } from "./callers/stateless-call.js";
import type { ClientCall } from "./client-call.js";
import type { EndpointContext } from "./endpoint/endpoint-context.js";
import { createEventStreams } from "./endpoint/event-streams.js";
import { HttpResponseWriter } from "./endpoint/http-messages.js";
import type { EndpointResponse } from "./endpoint/http-request.js";
import { createMcpEndpoint } from "./endpoint/mcp-endpoint.js";
import { serveStdio } from "./endpoint/serve-stdio.js";
import { createTurnQueue, type TurnQueue } from "./endpoint/turn-queue.js";
import { createEvents } from "./events.js";
import { pollOptions, startTestGateway } from "./gateway.test.helper.js";
import { completeLimits } from "./limits.js";
import { forward } from "./servers/forward.js";

const fail = (what: string) => (): never => {
  throw new Error(what);
};

/** Parts of an endpoint whose code for accounts and requesters throws, and the first lines of the reported defects. */
function brokenParts(turns: TurnQueue = createTurnQueue()) {
  const defects: string[] = [];
  const events = createEvents({
    onEvent: (event) => {
      if (event.kind === "defect") defects.push(event.reason.split("\n", 1)[0] ?? "");
    },
  });
  const context = {
    limits: completeLimits(),
    events,
    turns,
    requesterOf: fail("no requester"),
    isClosing: () => false,
    accounts: { shared: fail("no account"), create: fail("no account") },
  };
  return { context: context as unknown as EndpointContext, defects };
}

function callOf(): StatelessCall {
  const account = createAccounts(completeLimits()).create({ principal: "p", rateKey: "p" }, undefined);
  const options = { subject: "", account, capabilities: {}, logLevel: undefined, headers: undefined };
  return new StatelessCall({ id: 1, method: "tools/call" }, options);
}

test("reports a page whose handler throws as a defect, responds with 500, and keeps running", async () => {
  const { url, token, events } = await startTestGateway({}, { pages: { "/broken": fail("a broken page") } });
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/broken`, { headers });
  expect([response.status, await response.text()]).toEqual([500, expect.stringContaining("Internal gateway error.")]);
  expect(events.filter(({ kind }) => kind === "defect")).toEqual([
    { kind: "defect", reason: expect.stringMatching(/^Error: a broken page\n/) },
  ]);
  expect((await fetch(`${url}/readyz`, { headers })).status).toBe(200);
});

test.for([
  ["in the turn in which it arrives", createTurnQueue()],
  ["in a later turn", { enter: () => new Promise<void>((resolve) => setImmediate(resolve)) }],
] as const)(
  "reports an exception in the handling of a message %s as a defect, and responds with 500",
  async ([, turns]) => {
    const { context, defects } = brokenParts(turns);
    const endpoint = createMcpEndpoint(context);
    const server = createServer((request, response) => endpoint(request, response)).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", connection: "close" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "initialize", params: {} }),
    });
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ id: 7, error: { message: "Internal gateway error." } });
    expect(defects).toEqual(["Error: no requester"]);
  },
);

test("reports an exception in the handling of a message over stdio as a defect, and responds with an error", async () => {
  const { context, defects } = brokenParts();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const client = serveStdio(context, input, output);
  onTestFinished(() => client.close());
  const params = { protocolVersion: "2025-11-25", capabilities: {} };
  input.write(`${JSON.stringify({ jsonrpc: "2.0", id: 7, method: "initialize", params })}\n`);
  const [line] = await once(output, "data");
  expect(JSON.parse(String(line))).toMatchObject({ id: 7, error: { message: "Internal gateway error." } });
  expect(defects).toEqual([expect.stringMatching(/^TypeError|^Error/)]);
});

test.for([
  ["before the call", (): never => fail("before")()],
  [
    "after the call",
    (_: ClientCall, work: () => unknown): never => {
      work();
      return fail("after")();
    },
  ],
] as const)("runs a call once if an observer throws %s, and reports a defect", async ([, within]) => {
  const defects: unknown[] = [];
  const observers = joinObservers([{ within } as CallObserver], (error) => void defects.push(error));
  const work = vi.fn(async () => "result");
  expect(await observers.within(callOf(), work)).toBe("result");
  expect(work).toHaveBeenCalledTimes(1);
  expect(defects).toEqual([expect.any(Error)]);
});

test("passes on the exception of a call within an observer, and does not run the call again", () => {
  const defects: unknown[] = [];
  const observers = joinObservers([{ within: (_, work) => work() }], (error) => void defects.push(error));
  const work = vi.fn(fail("the call itself"));
  expect(() => observers.within(callOf(), work)).toThrow("the call itself");
  expect(work).toHaveBeenCalledTimes(1);
  expect(defects).toEqual([]);
});

test.for([
  ["with a reason", new Error("cancelled"), "cancelled"],
  ["by its client", undefined, "The client cancelled the call."],
] as const)(
  "ends the pause before a request is repeated when its call is cancelled %s",
  async ([, reason, message]) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const call = callOf();
    Object.defineProperty(call, "era", { value: "legacy" });
    const connection = {
      send: vi.fn(async (_: ClientCall, { onAttempt }: ForwardedRequest) => {
        onAttempt?.({ era: "modern" } as ServerDescription);
        return { resultType: "input_required" };
      }),
    };
    const observers = joinObservers([], () => {});
    const forwarded = forward(
      connection as unknown as Connection,
      call,
      { method: "tools/call", params: {} },
      observers,
    );
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
    call.cancel(reason);
    await expect(forwarded).rejects.toMatchObject({ message });
    expect(vi.getTimerCount()).toBe(0);
    expect(connection.send).toHaveBeenCalledTimes(1);
  },
);

test("sends nothing more to an HTTP/2 client that has reset its request", async () => {
  const streams = createEventStreams();
  onTestFinished(() => streams.close());
  let sessions: Http2Session[] = [];
  const server = createHttp2Server().listen(0, "127.0.0.1");
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  server.on("session", (session) => {
    sessions = [...sessions, session];
  });
  await once(server, "listening");
  const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => client.destroy());
  const stream = client.request({ ":method": "POST" });
  stream.on("error", () => {});
  const [, response] = (await once(server, "request")) as [unknown, EndpointResponse];
  const writer = new HttpResponseWriter(response, streams);
  expect(writer.isOpen).toBe(true);
  stream.close(8);
  await expect.poll(() => writer.isOpen, pollOptions).toBe(false);
});
