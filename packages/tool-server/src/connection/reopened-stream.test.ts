import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { startHostileServer } from "../http/hostile-http-server.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import { metaKeys } from "./rpc/protocol.js";
import { openEagerConnection } from "./servers/eager-connection.test.helper.js";

interface Request {
  readonly id?: unknown;
  readonly method?: string;
}

/** A server whose streams of notifications are opened by `onStream`; `index` counts the attempts from 0. */
async function start(
  era: "modern" | "legacy",
  onStream: (response: ServerResponse, request: Request, index: number) => void,
) {
  let attempts = 0;
  const describing = { capabilities: { tools: { listChanged: true } }, serverInfo: { name: "t", version: "1" } };
  const results: Readonly<Record<string, object>> = {
    initialize: { ...describing, protocolVersion: "2025-11-25" },
    "tools/list": { tools: [], resultType: "complete", ttlMs: 3_600_000, cacheScope: "private" },
    ...(era === "modern" && {
      "server/discover": {
        ...describing,
        supportedVersions: ["2026-07-28"],
        ttlMs: 0,
        cacheScope: "private",
        resultType: "complete",
      },
    }),
  };
  const server = await startHostileServer(({ method: httpMethod, body }, response) => {
    const request: Request = httpMethod === "POST" ? JSON.parse(body) : {};
    if (httpMethod === "GET" || request.method === "subscriptions/listen") {
      attempts += 1;
      return onStream(response, request, attempts - 1);
    }
    const result = results[request.method ?? ""];
    if (request.id === undefined || result === undefined) {
      return response.writeHead(request.method === "server/discover" ? 400 : 202).end();
    }
    respond(response, request, { result });
  });
  const { connection, clock } = await openEagerConnection({ type: "http", url: String(server.url) });
  await expect.poll(() => connection.state, waiting).toBe("READY");
  const changed: string[] = [];
  connection.onListChanged((list) => changed.push(list));
  const lists = (): number => server.requests.filter(({ body }) => body.includes('"tools/list"')).length;
  return { connection, clock, changed, lists, attempts: () => attempts };
}

function respond(response: ServerResponse, { id }: Request, outcome: object): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
}

/** Opens the stream, acknowledged in the newer era. */
function open(response: ServerResponse, { id }: Request): ServerResponse {
  const params = { notifications: { toolsListChanged: true }, _meta: { [metaKeys.subscriptionId]: id } };
  const message = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params };
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(id === undefined ? ": open\n\n" : `data: ${JSON.stringify(message)}\n\n`);
  return response;
}

describe.each(["modern", "legacy"] as const)("the stream of notifications of a %s server", (era) => {
  test("reports its lists as changed each time that it is open again, so that they are requested again", async () => {
    const streams: ServerResponse[] = [];
    const { connection, clock, changed, lists } = await start(era, (response, request) =>
      streams.push(open(response, request)),
    );
    await expect.poll(() => streams.length, waiting).toBe(1);
    await connection.listTools();
    expect([changed, lists()]).toEqual([[], 1]);
    for (let round = 1; round <= 2; round += 1) {
      streams.at(-1)?.end();
      await expect
        .poll(() => {
          clock.advance(60_000);
          return changed.length;
        }, waiting)
        .toBe(round);
      await connection.listTools();
      expect([changed.at(-1), lists(), streams.length]).toEqual(["tools", round + 1, round + 1]);
    }
  });

  test("reports its lists as changed if it could not be opened at first", async () => {
    const { clock, changed, attempts } = await start(era, (response, request, index) => {
      if (index === 0) response.writeHead(503).end();
      else open(response, request);
    });
    await expect
      .poll(() => {
        clock.advance(60_000);
        return changed;
      }, waiting)
      .toEqual(["tools"]);
    expect(attempts()).toBe(2);
  });
});

test("opens a subscription again after the server reached a limit, until the server does not support it", async () => {
  const refusals = [-32_603, -32_000, -32_601];
  const { clock, changed, attempts } = await start("modern", (response, request, index) => {
    const code = refusals[index - 1];
    if (code === undefined) open(response, request).end();
    else respond(response, request, { error: { code, message: "Subscription limit reached" } });
  });
  await expect
    .poll(() => {
      clock.advance(60_000);
      return attempts();
    }, waiting)
    .toBe(4);
  await expect.poll(() => clock.waiting, waiting).toBe(0);
  expect([attempts(), changed]).toEqual([4, []]);
});
