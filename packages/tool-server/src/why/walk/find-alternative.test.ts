import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTestHttpClient } from "../../auth/oauth/oauth-world.test.helper.js";
import { systemClock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import { type SeenRequest, startHostileServer } from "../../http/hostile-http-server.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { AttemptEvidence } from "../evidence.js";
import { createTestWalk, trusted } from "../explain.test.helper.js";
import type { ExplainOptions } from "../explanation.js";
import { candidatesOf, findAlternative, mayBeElsewhere } from "./find-alternative.js";

test("tries other urls from the likeliest on, without the configured one", () => {
  const list = (url: string, type: "http" | "sse" | "ws") =>
    candidatesOf(new URL(url), type).map((candidate) => `${candidate.type} ${candidate.url.pathname}`);
  expect(list("https://a.example/api", "http")).toEqual([
    "sse /api",
    "http /api/",
    "http /mcp",
    "sse /sse",
    "http /api/mcp",
    "sse /api/sse",
    "http /",
  ]);
  expect(list("https://a.example/", "sse")).toEqual(["http /", "http /mcp", "sse /sse"]);
  expect(list("https://a.example/api/v1/", "http")).toContain("http /api/v1/mcp");
  expect(list("https://a.example/mcp/", "http")).toContain("http /mcp");
  const [first] = candidatesOf(new URL("wss://a.example/mcp"), "ws");
  expect(first?.url.href).toBe("https://a.example/mcp");
});

test("searches another url only if no tool server responded", () => {
  const afterFailure = (code: string, status?: number, more: Partial<AttemptEvidence> = {}): boolean =>
    mayBeElsewhere({ credential: "none", failure: { code, message: "", status } as never, ...more });
  expect(mayBeElsewhere({ credential: "none" })).toBe(false);
  expect(afterFailure("NOT_A_TOOL_SERVER")).toBe(true);
  expect(afterFailure("NOT_A_TOOL_SERVER", 200, { connected: {} as never })).toBe(false);
  expect(afterFailure("SERVER_FAILED", 404)).toBe(true);
  expect(afterFailure("SERVER_FAILED", 503)).toBe(false);
  expect(afterFailure("SERVER_FAILED")).toBe(false);
  expect(afterFailure("SERVER_FAILED", undefined, { response: { status: 405 } as never })).toBe(true);
  expect(afterFailure("SERVER_FAILED", 503, { response: { status: 405 } as never })).toBe(false);
  expect(afterFailure("UNAUTHORIZED", 404)).toBe(false);
});

describe("another url", () => {
  const message = JSON.stringify({ jsonrpc: "2.0", id: "wirescope-why", result: {} });

  /** Searches for an alternative to `/api` of a server that responds like this to every other path, and with 404 there. */
  async function search(
    respond: (response: ServerResponse, request: SeenRequest) => void,
    options: Partial<ExplainOptions> = {},
  ) {
    const server = await startHostileServer((request, response) => {
      if (request.url.startsWith("/api?")) response.writeHead(404).end();
      else respond(response, request);
    });
    const url = new URL("/api?key=a-secret-of-mine", server.url);
    const secrets = createSecretRegistry();
    secrets.add("a-secret-of-mine");
    const http = createTestHttpClient(secrets);
    onTestFinished(() => http.close());
    const walk = createTestWalk({ type: "http", url: "https://api.example/" }, { ...options, secrets });
    const found = await findAlternative(walk, url, "http", http);
    return { found, origin: server.url.origin, requests: server.requests };
  }

  const respond =
    (status: number, type: string, body = "") =>
    (response: ServerResponse, { method }: SeenRequest): void =>
      void (method === "POST"
        ? response.writeHead(status, { "content-type": type }).end(body)
        : response.writeHead(404).end());
  const stream =
    (status: number, type: string, body: string) =>
    (response: ServerResponse, { method }: SeenRequest): void =>
      void (method === "GET"
        ? response.writeHead(status, { "content-type": type }).end(body)
        : response.writeHead(404).end());
  const endpoint = "event: hello\ndata: x\n\nevent: endpoint\ndata: /messages\n\n";

  test("finds another url that responds with the protocol, and reports it without a secret", async () => {
    const { found, origin, requests } = await search(respond(400, "application/json", message));
    const evidence = "a ping returns a JSON-RPC message (status 400)";
    expect(found).toEqual({ type: "http", url: `${origin}/api/?key=[redacted]`, evidence });
    expect(requests.map(({ method, headers: { accept } }) => [method, accept])).toEqual([
      ["GET", "text/event-stream"],
      ["POST", "application/json, text/event-stream"],
    ]);
    expect(requests[1]?.headers["content-type"]).toBe("application/json");
  });

  test.each([
    ["a 401", respond(401, "text/html"), "a ping returns 401"],
    ["an event stream", respond(200, "text/event-stream; charset=utf-8"), "a ping returns an event stream"],
    [
      "an endpoint event",
      stream(200, "text/event-stream;charset=utf-8", endpoint),
      "the event stream begins with the endpoint event of HTTP with SSE",
    ],
  ])("finds another url that responds with %s", async (_, handle, evidence) => {
    expect((await search(handle)).found?.evidence).toBe(evidence);
  });

  test.each([
    ["an event stream and status 404", respond(404, "text/event-stream")],
    ["another type that names an event stream", respond(200, "not-text/event-stream")],
    ["JSON that is not a message", respond(200, "application/json", '{"hello": "world"}')],
    ["a message as text", respond(200, "text/plain", message)],
    ["no type", (response: ServerResponse) => response.writeHead(200).end(message)],
    ["an event stream without an endpoint event", stream(200, "text/event-stream", "event: hello\ndata: x\n\n")],
    ["an endpoint event and status 500", stream(500, "text/event-stream", endpoint)],
    ["an endpoint event of another type", stream(200, "text/plain", endpoint)],
    ["a closed connection", (response: ServerResponse) => response.socket?.destroy()],
  ] as const)("does not suggest another url that responds with %s", async (_, handle) => {
    const { found, requests } = await search(handle as Parameters<typeof search>[0]);
    expect(found).toBeUndefined();
    expect(new Set(requests.map(({ url }) => url.replace(/\?.*/, ""))).size).toBe(7);
  });

  test("reads a stream that does not end until its endpoint event", async () => {
    const { found } = await search((response, { method }) => {
      if (method === "GET") response.writeHead(200, { "content-type": "text/event-stream" }).write(endpoint);
      else response.writeHead(404).end();
    });
    expect(found?.type).toBe("sse");
  });

  test.each([
    [100_000, 3000],
    [200, 200],
  ])(
    "waits for another url up to three seconds, or the timeout of a response (%i ms), at most twice",
    async (responseMs, expected) => {
      const delays: number[] = [];
      const clock = {
        now: systemClock.now,
        after(delayMs: number, wake: () => void) {
          delays.push(delayMs);
          // The first candidate responds, and cancels this.
          return systemClock.after(delays.length === 1 ? 60_000 : 1, wake);
        },
      };
      const { found, requests } = await search(() => {}, { responseMs, clock });
      expect(found).toBeUndefined();
      expect(delays).toEqual([expected, expected, expected]);
      expect(requests.length).toBeLessThanOrEqual(3);
    },
  );

  test("requests no other url if trust can no longer be decided", async () => {
    let asked = 0;
    const evaluateTrust = async () => {
      asked += 1;
      if (asked === 1) return trusted;
      throw new ToolServerError("APPROVALS_UNREADABLE", { problem: "It is damaged.", advice: "" });
    };
    const paths: string[] = [];
    const searching = search((_, { url }) => paths.push(url), { evaluateTrust });
    await expect(searching).rejects.toThrow("It is damaged.");
    expect(paths).toEqual([]);
  });
});
