import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTestHttpClient } from "../../auth/oauth/oauth-world.test.helper.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { startHostileServer } from "../../http/hostile-http-server.test.helper.js";
import type { HttpRequest, HttpResponse } from "../../http/http-client.js";
import { printableText } from "../../printable-text.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { collectResponseEvidence, createRecordingClient, type RecordedExchange } from "./recording-client.js";

const keptBytes = 16 * 1024;
const limitBytes = 1024 * 1024;

/** Sends a request to a server that responds like this, with a recording client. */
async function record(respond: (response: ServerResponse) => void, more: Partial<HttpRequest> = {}) {
  const server = await startHostileServer((_, response) => respond(response));
  const clock = createFakeClock();
  const seen: RecordedExchange[] = [];
  const http = createRecordingClient(createTestHttpClient(createSecretRegistry()), clock, (each) => seen.push(each));
  onTestFinished(() => http.close());
  const headers = { authorization: "Bearer a-token-of-mine" };
  const response = await http.send({ method: "POST", url: server.url, headers, body: "{}", ...more });
  const [exchange] = seen;
  if (exchange === undefined) throw new Error("Nothing was recorded.");
  expect(http.exchanges).toEqual([exchange]);
  return { server, clock, http, response, exchange };
}

const send =
  (status: number, body: string, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end(body);

/** The ways in which a client consumes a body. */
const ways: readonly [string, (response: HttpResponse) => Promise<string>][] = [
  ["text", (response) => response.text(limitBytes)],
  [
    "read",
    async (response) => {
      let text = "";
      await response.read((chunk) => {
        text += chunk.toString("utf8");
      });
      return text;
    },
  ],
];

describe("a recording client", () => {
  test("records a request with the status and headers of its response", async () => {
    const { server, exchange, response } = await record(send(404, "", { "x-of": "server" }));
    expect(exchange).toMatchObject({
      method: "POST",
      url: server.url,
      sent: { authorization: "Bearer a-token-of-mine" },
      status: 404,
      headers: { "x-of": "server" },
      isOwn: true,
    });
    expect(response).toMatchObject({ status: 404, headers: { "x-of": "server" } });
    expect(response.socketInfo).toBeDefined();
  });

  test.each(ways)(
    "keeps the beginning of a body that is consumed with %s, and returns all of it",
    async (_, consume) => {
      const body = `${"ä".repeat(keptBytes)}end`;
      const { exchange, response } = await record(send(500, body));
      expect(await consume(response)).toBe(body);
      expect(Buffer.byteLength(exchange.body())).toBe(keptBytes);
      expect(body.startsWith(exchange.body())).toBe(true);
    },
  );

  test("keeps the beginning of a body that is discarded, and stops reading", async () => {
    const { exchange, response, http, clock } = await record((response) => {
      // Without an end.
      response.socket?.write(`HTTP/1.1 500 No\r\nconnection: close\r\n\r\n${"x".repeat(keptBytes + 10)}`);
    });
    response.discard();
    await http.settle();
    expect(exchange.body()).toBe("x".repeat(keptBytes));
    expect(clock.waiting).toBe(0);
  });

  test("waits two seconds for a body that is discarded and does not end", async () => {
    const { exchange, response, http, clock } = await record((response) => {
      response.writeHead(503).write("maintenance");
    });
    response.discard();
    await expect.poll(() => exchange.body()).toBe("maintenance");
    let isSettled = false;
    const settling = http.settle().then(() => {
      isSettled = true;
    });
    clock.advance(1999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isSettled).toBe(false);
    clock.advance(1);
    await settling;
    expect(exchange.body()).toBe("maintenance");
    expect(clock.waiting).toBe(0);
  });

  test("keeps the body of a request that is cancelled after its response was discarded", async () => {
    let refused: ServerResponse | undefined;
    const cancelled = new AbortController();
    const respond = (response: ServerResponse): void => {
      refused = response.writeHead(401);
      response.flushHeaders();
    };
    const { exchange, response, http } = await record(respond, { signal: cancelled.signal });
    response.discard();
    cancelled.abort();
    refused?.end("The token expired.");
    await http.settle();
    expect(exchange.body()).toBe("The token expired.");
  });

  test("cancels a request before and after it is sent, and the body of one that is not discarded", async () => {
    await expect(record(() => {}, { signal: AbortSignal.abort(new Error("Too late.")) })).rejects.toThrow("Too late.");
    const cancelled = new AbortController();
    const { signal } = cancelled;
    const sending = record(() => cancelled.abort(new Error("No response.")), { signal });
    await expect(sending).rejects.toThrow("No response.");
    const reading = new AbortController();
    const { response } = await record((response) => response.writeHead(500).write("partial"), {
      signal: reading.signal,
    });
    const text = response.text(limitBytes);
    reading.abort(new Error("No body."));
    await expect(text).rejects.toThrow("No body.");
  });

  test("settles if a body that is discarded is cut off", async () => {
    const { exchange, response, http } = await record((response) => {
      response.writeHead(500, { "content-length": "100" }).write("partial");
      setImmediate(() => response.socket?.end());
    });
    response.discard();
    await http.settle();
    expect(exchange.body()).toBe("partial");
  });

  test.each([
    ["a message", 200, "application/json", {}, ""],
    ["an event stream", 299, "Text/Event-Stream; charset=utf-8", {}, ""],
    ["a page", 200, "text/html", {}, "body"],
    ["a similar type", 200, "application/jsonp", {}, "body"],
    ["a message of an error", 300, "application/json", {}, "body"],
    ["a response without a type", 200, undefined, {}, "body"],
    ["a response of an authorization server", 400, "application/json", { peer: "the token endpoint" }, ""],
  ] as const)("keeps the body of a response unless it may contain secrets: %s", async (_, status, type, more, kept) => {
    const headers = type === undefined ? {} : { "content-type": type };
    const { exchange, response } = await record(send(status, "body", headers), more);
    expect(await response.text(limitBytes)).toBe("body");
    expect(exchange.body()).toBe(kept);
    expect(exchange.isOwn).toBe(!("peer" in more));
  });
});

describe("the evidence of a response", () => {
  const secrets = createSecretRegistry();
  secrets.add("a-secret-of-mine");
  const sanitize = (text: string, maxLength = 300): string =>
    printableText(secrets.redact(text).replace(/\s+/g, " ").trim(), maxLength);
  const evidenceOf = (body: string, headers: Record<string, string> = {}) =>
    collectResponseEvidence(
      { sanitize },
      {
        method: "POST",
        url: new URL("https://api.example/mcp?key=1"),
        sent: {},
        status: 500,
        headers,
        isOwn: true,
        body: () => body,
      },
    );
  const excerptOf = (body: string): string => evidenceOf(body).excerpt;

  test("reports a response with the path without the query, the media type without its parameters, and no secret", () => {
    const headers = {
      "content-type": "Text/Plain; charset=utf-8",
      "retry-after": "a-secret-of-mine",
    };
    expect(evidenceOf("It is a-secret-of-mine.", headers)).toEqual({
      method: "POST",
      path: "/mcp",
      status: 500,
      mediaType: "text/plain",
      title: undefined,
      excerpt: "It is [redacted].",
      location: undefined,
      retryAfter: "[redacted]",
    });
    expect(evidenceOf("")).toMatchObject({ mediaType: "", retryAfter: undefined });
  });

  test.each([
    ["<!DOCTYPE html><title>Hi</title>", "Hi"],
    [' \n<?xml version="1.0"?> <html lang="en"><head><title class="x"> Hi \n there </title>', "Hi there"],
    ["<?xml version='1.0'?><HTML><body>", ""],
    ["<head><title></title>", ""],
    ["<body>", ""],
    ["<hello/>", undefined],
    ["text <html><title>Hi</title>", undefined],
  ])("recognizes a page by its beginning, with its title: %s", (body, title) => {
    expect(evidenceOf(body).title).toBe(title);
  });

  test("reports the text of a page without markup, scripts and styles", () => {
    const page =
      "<html><style>p {\n}</style><p>Sign\n<b>in</b><script src=x>let token;\n</script> here<script>let more = 1;";
    expect(excerptOf(page)).toBe("Sign in here");
    // The markup of another body may be the message.
    expect(excerptOf("a <b> c")).toBe("a <b> c");
  });

  test.each([
    ['{"error": "invalid_token", "error_description": "It expired."}', "invalid_token: It expired."],
    ['{"error": {"code": "E1", "message": "No", "other": "x"}}', "E1: No"],
    ['{"title": "T", "description": "D", "detail": "E", "details": "F", "reason": "R"}', "T: D: E: F: R"],
    ['{"errors": ["one", {"message": "two"}, "three", "four"]}', "one: two: three"],
    ['{"error": {"error": {"error": {"error": "deep"}}}}', "deep"],
    ['{"error": {"error": {"error": {"error": ["d"]}}}}', '{"error": {"error": {"error": {"error": ["d"]}}}}'],
    ['{"hello": "world"}', '{"hello": "world"}'],
    ['{"error": null, "message": 7}', '{"error": null, "message": 7}'],
    ['{"error": null, "message": "No"}', "No"],
    ['"a string"', '"a string"'],
    ["{}", ""],
    ["not json", "not json"],
  ])("reports the error fields of a body, otherwise the body: %s", (body, excerpt) => {
    expect(excerptOf(body)).toBe(excerpt);
  });

  test.each([
    ["https://login.example/in?token=x#y", "https://login.example/in"],
    ["/other?token=x", "https://api.example/other"],
    ["https://user:pw@login.example/in", "https://login.example/in"],
    ["app://open/in?token=x", "app://open/in"],
    ["https://", undefined],
  ])("reports the target of a redirect without its query: %s", (location, shown) => {
    expect(evidenceOf("", { location }).location).toBe(shown);
  });
});
