import type { RequestListener, ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/server";
import { type Connection, createSecretRegistry } from "@wirescope/tool-server";
import { metaKeys, openEntry } from "@wirescope/tool-server/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import { configurationOf, pollOptions } from "../gateway.test.helper.js";
import { modernListener, serve } from "../tool-servers.test.helper.js";
import { createListenStream } from "./listen-stream.js";

/** A subscription that a test server received. */
interface Received {
  readonly uris: readonly string[];
  readonly isOpen: () => boolean;
  acknowledge(): void;
}

/** A modern server that acknowledges a subscription when the test does. */
async function serveSubscriptions(): Promise<{ url: string; received: readonly Received[] }> {
  const received: Received[] = [];
  const listener: (...parsed: [...Parameters<RequestListener>, body?: unknown]) => void = modernListener(
    () => new McpServer({ name: "notes", version: "1" }, { capabilities: { resources: { subscribe: true } } }),
  );
  const port = await serve(async (request, response) => {
    if (request.headers["mcp-method"] !== "subscriptions/listen") {
      listener(request, response);
      return;
    }
    let body = "";
    for await (const chunk of request) body += chunk;
    const message = JSON.parse(body);
    const { id, params } = message;
    const { resourceSubscriptions: uris } = params.notifications;
    if (uris === undefined) {
      // The client's own subscription to changes of lists.
      listener(request, response, message);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    received.push({ uris, isOpen: () => isOpen(response), acknowledge: () => acknowledge(response, id) });
  });
  return { url: `http://127.0.0.1:${port}/mcp`, received };
}

function isOpen({ destroyed, closed }: ServerResponse): boolean {
  return !destroyed && !closed;
}

function acknowledge(response: ServerResponse, id: unknown): void {
  const params = { notifications: {}, _meta: { [metaKeys.subscriptionId]: id } };
  const message = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params };
  response.write(`data: ${JSON.stringify(message)}\n\n`);
}

async function connect(url: string): Promise<Connection> {
  const configured = configurationOf({ notes: { type: "http", url } });
  const [entry] = configured.configuration.entries;
  const { connection } = await openEntry({ ...configured, secrets: createSecretRegistry(), settings: {} }, entry!);
  await connection.connect();
  return connection;
}

test("subscribes on the next session if the previous one ends before its server acknowledged", async () => {
  const { url, received } = await serveSubscriptions();
  const [first, second] = [await connect(url), await connect(url)];
  onTestFinished(() => second.close());
  let connection = first;
  const subjects = new Map([["notes://one", 1]]);
  const stream = createListenStream("resourceSubscriptions", subjects, () => connection);

  const opened = stream.open();
  await expect.poll(() => received.length, pollOptions).toBe(1);
  connection = second;
  stream.forget();
  const reopened = stream.open();
  await first.close();
  await expect.poll(() => received.length, pollOptions).toBe(2);
  received[1]?.acknowledge();
  await Promise.all([opened, reopened]);
  expect(received.map((one) => [one.uris, one.isOpen()])).toEqual([
    [["notes://one"], false],
    [["notes://one"], true],
  ]);
});

test("keeps nothing of a session that ends before its server acknowledged a change of the subjects", async () => {
  const { url, received } = await serveSubscriptions();
  const subjects = new Map([["notes://one", 1]]);
  let connection: Connection | undefined;
  const stream = createListenStream("resourceSubscriptions", subjects, () => connection);

  // A function of its own, because the variables of the test stay referenced.
  const useOnce = async (): Promise<WeakRef<Connection>> => {
    const used = await connect(url);
    connection = used;
    const opened = stream.open();
    await expect.poll(() => received.length, pollOptions).toBe(1);
    received[0]?.acknowledge();
    await opened;
    subjects.set("notes://two", 1);
    const lost = stream.open().then(
      () => false,
      () => true,
    );
    await expect.poll(() => received.length, pollOptions).toBe(2);
    connection = undefined;
    stream.forget();
    await used.close();
    expect(await lost).toBe(true);
    return new WeakRef(used);
  };
  const used = await useOnce();
  await vi.waitFor(
    async () => {
      globalThis.gc?.();
      await new Promise((resolve) => setImmediate(resolve));
      // Not the object itself: the error would keep it.
      expect(used.deref() === undefined).toBe(true);
    },
    { timeout: 60_000, interval: 20 },
  );
  await stream.open();
});
