import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { waiting } from "../../waiting.test.helper.js";
import { clientTls } from "./bridge.test.helper.js";
import { createNetworkLink } from "./network-link.js";
import { createRemote, type Remote } from "./remote.js";
import { startToolServer, type ToolServer } from "./tool-server.test.helper.js";

interface Setting {
  readonly remote: Remote;
  /** From now on transports are opened to this server. */
  use(server: ToolServer): void;
  readonly reopened: () => number;
}

/** A remote for the first server, with a client session. */
async function setUp(first: ToolServer): Promise<Setting> {
  let current = first;
  let reopened = 0;
  const remote = createRemote({
    openTransport() {
      const link = createNetworkLink({
        url: current.url,
        type: "http",
        tls: clientTls,
        variables: {},
        secrets: createSecretRegistry(),
      });
      onTestFinished(() => link.close());
      return link.openTransport();
    },
    onMessage: () => {},
    onFailed: () => {},
    onProblem: () => {},
    isEager: true,
    onReopened: () => {
      reopened += 1;
    },
  });
  onTestFinished(() => remote.close());
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  await remote.send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  await remote.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return {
    remote,
    use(server) {
      current = server;
    },
    reopened: () => reopened,
  };
}

test("sends a request to the server that replaced one that is gone, in a session like the one before", async () => {
  const [first, second] = [await startToolServer(), await startToolServer()];
  const { remote, use, reopened } = await setUp(first);
  use(second);
  first.kill();
  await remote.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "x" } });
  expect([second.asked("initialize").length, second.asked("notifications/initialized").length]).toEqual([1, 1]);
  expect(second.asked("tools/call")).toHaveLength(1);
  expect(reopened()).toBe(1);
});

test("moves the session at once when it is reopened, and lets requests in flight end where they began", async () => {
  const [first, second] = [await startToolServer(), await startToolServer()];
  const { remote, use, reopened } = await setUp(first);
  const hanging = remote.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "wait" } });
  await vi.waitFor(() => expect(first.waiting).toHaveLength(1), waiting);
  use(second);
  remote.reopen();
  await vi.waitFor(() => expect(reopened()).toBe(1), waiting);
  expect(second.asked("initialize")).toHaveLength(1);
  first.waiting[0]
    ?.writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ jsonrpc: "2.0", id: 2, result: {} }));
  await hanging;
  // The old session is ended in order.
  await vi.waitFor(() => expect(first.requests.at(-1)?.method).toBe("DELETE"), waiting);
});

test("moves the session when its event stream is lost, although calls always overlap", async () => {
  const streams: ServerResponse[] = [];
  const server = await startToolServer(undefined, undefined, (response) => {
    streams.push(response);
    if (streams.length === 2) server.forget();
    if (streams.length === 2) response.writeHead(410).end();
    else response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  });
  const { remote, reopened } = await setUp(server);
  const call = (id: number) => remote.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "wait" } });
  const respond = (index: number, id: number) =>
    server.waiting[index]
      ?.writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
  const first = call(2);
  await vi.waitFor(() => expect([server.waiting.length, streams.length]).toEqual([1, 1]), waiting);
  streams[0]?.end();
  await vi.waitFor(() => expect(reopened()).toBe(1), waiting);
  const second = call(3);
  await vi.waitFor(() => expect(server.waiting).toHaveLength(2), waiting);
  const sessions = server.requests
    .filter(({ body }) => body.includes('"tools/call"'))
    .map(({ headers }) => headers["mcp-session-id"]);
  expect(new Set(sessions).size).toBe(2);
  respond(0, 2);
  respond(1, 3);
  await Promise.all([first, second]);
});
