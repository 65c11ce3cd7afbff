import { Client } from "@modelcontextprotocol/client";
import { expect, test, vi } from "vitest";
import { waiting } from "../../waiting.test.helper.js";
import { Call } from "./call.js";
import type { RpcMessage, RpcObject } from "./json-rpc.js";
import { Peer } from "./peer.js";

/** A call that records its progress. */
class RecordingCall extends Call {
  readonly received: unknown[];

  constructor(received: unknown[]) {
    super({ id: "of the caller", method: "tools/call" }, "legacy");
    this.received = received;
  }

  override onProgress(progress: RpcObject): void {
    this.received.push(progress);
  }
}

/** A transport to a server that never responds by itself, and an SDK client that is connected over it. */
async function connect() {
  const sent: RpcMessage[] = [];
  const errors: Error[] = [];
  const transport = {
    onmessage: undefined as ((message: RpcMessage) => void) | undefined,
    onclose: undefined as (() => void) | undefined,
    onerror: undefined,
    async start() {},
    async close() {},
    async send(message: RpcMessage) {
      sent.push(message);
      if (!("method" in message) || !("id" in message) || message.method !== "initialize") return;
      const result = {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "a", version: "1" },
      };
      transport.onmessage?.({ jsonrpc: "2.0", id: message.id, result });
    },
  };
  const incoming: string[] = [];
  const peer = new Peer(transport, (message) => void incoming.push(message.method));
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  client.onerror = (error) => void errors.push(error);
  await client.connect(peer.clientTransport);
  const receive = (...messages: readonly RpcMessage[]): void => {
    for (const message of messages) transport.onmessage?.(message);
  };
  return { peer, client, sent, errors, incoming, receive };
}

const progress = (progressToken: number, done: number): RpcMessage => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken, progress: done },
});

test("passes progress, notifications and the response that arrive in one read to the SDK's client in this order", async () => {
  const { client, sent, errors, incoming, receive } = await connect();
  const received: unknown[] = [];
  client.setNotificationHandler("notifications/message", ({ params }) => void received.push(params.data));
  const log = (data: string): RpcMessage => ({
    jsonrpc: "2.0",
    method: "notifications/message",
    params: { level: "info", data },
  });
  const called = client
    .callTool({ name: "a" }, { onprogress: (step) => void received.push(step.progress) })
    .then(({ content }) => void received.push(content));
  await vi.waitFor(() => expect(sent.at(-1)).toMatchObject({ method: "tools/call" }), waiting);
  const request = sent.at(-1) as { id: number };
  const response: RpcMessage = { jsonrpc: "2.0", id: request.id, result: { content: [] } };
  receive(progress(request.id, 1), log("a"), progress(request.id, 2), log("b"), response);
  expect(incoming).toEqual(["notifications/message", "notifications/message"]);
  await called;
  expect(received).toEqual([1, "a", 2, "b", []]);
  expect(errors).toEqual([]);
});

test("drops what waits for a request of the SDK's client that the client cancels", async () => {
  const { client, sent, errors, receive } = await connect();
  const controller = new AbortController();
  const received: unknown[] = [];
  const onprogress = (step: { readonly progress: number }): void => {
    received.push(step.progress);
    controller.abort(new RangeError("enough"));
  };
  const called = client.callTool({ name: "a" }, { signal: controller.signal, onprogress });
  await vi.waitFor(() => expect(sent.at(-1)).toMatchObject({ method: "tools/call" }), waiting);
  const { id } = sent.at(-1) as { id: number };
  receive(progress(id, 1), progress(id, 2), { jsonrpc: "2.0", id, result: { content: [] } });
  await expect(called).rejects.toThrow("enough");
  await new Promise((resolve) => setImmediate(resolve));
  expect(received).toEqual([1]);
  expect(errors).toEqual([]);
});

test("gives a call its progress and its response at once, whatever the SDK's client still has to handle", async () => {
  const { peer, client, sent, receive } = await connect();
  const received: unknown[] = [];
  const call = new RecordingCall(received);
  client.setNotificationHandler("notifications/message", () => void received.push("log"));
  const requested = peer
    .request(call, "tools/call", {}, undefined, undefined)
    .then((result) => void received.push(result));
  const { id } = sent.at(-1) as { id: number };
  const log: RpcMessage = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "a" } };
  receive(log, progress(id, 1), progress(id, 2));
  expect(received).toEqual([{ progress: 1 }, { progress: 2 }]);
  receive({ jsonrpc: "2.0", id, result: { content: [] } });
  await requested;
  expect(received.filter((what) => what !== "log")).toEqual([{ progress: 1 }, { progress: 2 }, { content: [] }]);
});

test("reports an exception of the SDK's client, and passes on the messages behind it", async () => {
  const { peer, client, errors, receive } = await connect();
  const { onmessage } = peer.clientTransport;
  const received: string[] = [];
  peer.clientTransport.onmessage = (message) => {
    const { method } = message as { method: string };
    received.push(method);
    if (method === "notifications/b") throw new Error("broken");
    onmessage?.(message);
  };
  receive(...["a", "b", "c"].map((name): RpcMessage => ({ jsonrpc: "2.0", method: `notifications/${name}` })));
  await new Promise((resolve) => setImmediate(resolve));
  expect(received).toEqual(["notifications/a", "notifications/b", "notifications/c"]);
  expect(errors.map(({ message }) => message)).toEqual(["broken"]);
  await client.close();
});
