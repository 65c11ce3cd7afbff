import type { RequestListener, ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/server";
import { type Connection, createSecretRegistry } from "@wirescope/tool-server";
import { metaKeys, openEntry, systemClock } from "@wirescope/tool-server/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import { configurationOf, pollOptions } from "../gateway.test.helper.js";
import { createTimersClock } from "../timers.test.helper.js";
import { modernListener, serve } from "../tool-servers.test.helper.js";
import { createListenStream } from "./listen-stream.js";

/** A subscription that a test server received. */
interface Received {
  readonly uris: readonly string[];
  readonly isOpen: () => boolean;
  acknowledge(): void;
  /** Ends the stream. */
  end(): void;
}

/** Responds to a subscription instead of opening a stream; `index` counts from 0. Returns false if it does not. */
type Refuse = (response: ServerResponse, id: unknown, index: number) => boolean;

/** A modern server that acknowledges a subscription when the test does. */
async function serveSubscriptions(
  refuse: Refuse = () => false,
): Promise<{ url: string; received: readonly Received[] }> {
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
    const isRefused = refuse(response, id, received.length);
    if (!isRefused) response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    received.push({
      uris,
      isOpen: () => isOpen(response),
      acknowledge: () => acknowledge(response, id),
      end: () => response.end(),
    });
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
  const stream = createListenStream("resourceSubscriptions", subjects, () => connection, systemClock);

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
  const stream = createListenStream("resourceSubscriptions", subjects, () => connection, systemClock);

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

const refuseWith =
  (code: number): ((response: ServerResponse, id: unknown) => void) =>
  (response, id) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: "No." } }));
  };

test("opens a stream that ended again until the server accepts it", async () => {
  const refusals = [undefined, (response: ServerResponse) => void response.writeHead(503).end(), refuseWith(-32_603)];
  const { url, received } = await serveSubscriptions((response, id, index) => {
    refusals[index]?.(response, id);
    return refusals[index] !== undefined;
  });
  const connection = await connect(url);
  onTestFinished(() => connection.close());
  const clock = createTimersClock();
  const stream = createListenStream("resourceSubscriptions", new Map([["notes://one", 1]]), () => connection, clock);
  const opened = stream.open();
  await expect.poll(() => received.length, pollOptions).toBe(1);
  received[0]?.acknowledge();
  await opened;
  received[0]?.end();
  for (const count of [2, 3, 4]) {
    await expect.poll(() => clock.waiting, pollOptions).toBe(1);
    clock.wake();
    await expect.poll(() => received.length, pollOptions).toBe(count);
  }
  expect([received[3]?.uris, received[3]?.isOpen(), clock.waiting]).toEqual([["notes://one"], true, 0]);
});

test.each([
  [-32_603, 1],
  [-32_601, 0],
  [-32_602, 0],
])("retries a stream that the server refused with the code %i %i times", async (code, retries) => {
  const { url } = await serveSubscriptions((response, id) => {
    refuseWith(code)(response, id);
    return true;
  });
  const connection = await connect(url);
  onTestFinished(() => connection.close());
  const clock = createTimersClock();
  const stream = createListenStream("resourceSubscriptions", new Map([["notes://one", 1]]), () => connection, clock);
  await expect(stream.open()).rejects.toMatchObject({ code: "CALL_REFUSED", details: { rpcCode: code } });
  expect(clock.waiting).toBe(retries);
  stream.forget();
  expect(clock.waiting).toBe(0);
});
