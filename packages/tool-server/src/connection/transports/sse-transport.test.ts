import type { ServerResponse } from "node:http";
import { describe, expect, test, vi } from "vitest";
import type { Credential } from "../../auth/credentials/credential.js";
import { createNoCredential } from "../../auth/credentials/fixed-credential.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import {
  certificate,
  type HostileHandler,
  type HostileServer,
  type SeenRequest,
  serverTls,
  startHostileServer,
} from "../../http/hostile-http-server.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { createSseTransport } from "./sse-transport.js";
import { defaultLimits } from "./transport.js";
import { createNetworkContext, type NetworkChanges, overNetwork } from "./transport-context.test.helper.js";
import { describeTransportContract } from "./transport-contract.test.helper.js";
import { failedStart, requestOf, type WatchedTransport, watchTransport } from "./watched-transport.test.helper.js";

/** Starts an event stream, which names the endpoint for messages. */
function beginStream(response: ServerResponse, endpoint = "/messages?sessionId=1"): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.write(`: welcome\n\nevent: endpoint\ndata: ${endpoint}\n\n`);
  return response;
}

/** A server that starts an event stream for each GET, and handles messages with `onPost`. */
async function serveSse(
  onPost: (request: SeenRequest, response: ServerResponse, stream: ServerResponse) => unknown,
  options: Parameters<typeof startHostileServer>[1] = {},
): Promise<HostileServer & { readonly streams: readonly ServerResponse[] }> {
  const streams: ServerResponse[] = [];
  const server = await startHostileServer((request, response) => {
    if (request.method === "GET") streams.push(beginStream(response));
    else onPost(request, response, streams.at(-1)!);
  }, options);
  return Object.assign(server, { streams });
}

describeTransportContract("HTTP with SSE", {
  kind: "sse",
  endsWithServer: true,
  async open(context, serve) {
    const server = await serveSse(({ body }, response, stream) => {
      response.writeHead(202).end("Accepted");
      const write = (text: string): void => void stream.write(`event: message\ndata: ${text}\n\n`);
      serve(JSON.parse(body), { send: (message) => write(JSON.stringify(message)), sendGarbage: write });
    });
    const network = overNetwork(context, server.url);
    return {
      transport: createSseTransport(network),
      dispose: () => network.http.close(),
      kill: server.kill,
      assertGone: () => expect(server.sockets.size).toBe(0),
    };
  },
});

/** A transport to an event stream, not yet started. */
function prepare(
  { url }: Pick<HostileServer, "url">,
  changes: NetworkChanges = {},
): WatchedTransport & { readonly refusals: readonly number[] } {
  const context = createNetworkContext("sse", url, changes);
  return { ...watchTransport(createSseTransport(context), context), refusals: context.refusals };
}

const serve = (handler: HostileHandler): Promise<HostileServer> => startHostileServer(handler);

describe("the event stream", () => {
  test("[TS-HEADER-3] sends the credential's headers with the event stream and every message, and the version once it is known", async () => {
    const server = await serveSse((_, response) => response.writeHead(202).end());
    const headers = [{ Authorization: "Bearer s3cr3t-t0ken", "X-Workspace-ID": "w1" }];
    const { transport } = prepare(server, { headers });
    await transport.start();
    await transport.send(requestOf(1));
    transport.setProtocolVersion?.("2025-06-18");
    await transport.send(requestOf(2));
    expect(server.requests).toHaveLength(3);
    for (const seen of server.requests) {
      expect(seen.headers).toMatchObject({ authorization: "Bearer s3cr3t-t0ken", "x-workspace-id": "w1" });
    }
    const [get, first, second] = server.requests;
    expect(get).toMatchObject({ method: "GET", url: "/mcp", headers: { accept: "text/event-stream" } });
    expect(first).toMatchObject({
      method: "POST",
      url: "/messages?sessionId=1",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(requestOf(1)),
    });
    expect(first?.headers).not.toHaveProperty("mcp-protocol-version");
    expect(second?.headers).toMatchObject({ "mcp-protocol-version": "2025-06-18" });
  });

  test("uses the client's TLS settings for the event stream and for messages", async () => {
    const server = await serveSse((_, response) => response.writeHead(202).end(), { tls: serverTls() });
    const { transport } = prepare(server, { http: { tls: { ca: certificate("ca") } } });
    await transport.start();
    await transport.send(requestOf(1));
    expect(server.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
  });

  test("requests the event stream once more with the credential's new headers after a refusal", async () => {
    const server = await serve(({ headers }, response) => {
      if (headers.authorization === "Bearer new-t0ken") beginStream(response);
      else response.writeHead(401).end("no".repeat(500_000));
    });
    const headers = [{ Authorization: "Bearer old-t0ken" }, { Authorization: "Bearer new-t0ken" }];
    const { transport, refusals, published } = prepare(server, { headers });
    await transport.start();
    expect(refusals).toEqual([401]);
    // The body of the refusal is discarded.
    await vi.waitFor(() => {
      const totals = published.totals();
      expect(totals).toMatchObject({ "stream-started": 2 });
      expect(totals["stream-succeeded"] + totals["stream-failed"]).toBe(1);
    }, waiting);
  });

  test("fails with UNAUTHORIZED or FORBIDDEN and a diagnosis if the event stream is refused again", async () => {
    for (const [status, code] of [
      [401, "UNAUTHORIZED"],
      [403, "FORBIDDEN"],
    ] as const) {
      const server = await serve((_, response) => response.writeHead(status).end());
      const error = await failedStart(prepare(server, { headers: [{ "X-API-Key": "k3y-of-notes" }] }));
      expect(error).toMatchObject({ code, details: { status } });
      expect(error.details.causes?.length).toBeGreaterThan(0);
      expect(error.message).not.toContain("k3y-of-notes");
    }
  });

  test.each([
    [400, "NOT_A_TOOL_SERVER"],
    [404, "NOT_A_TOOL_SERVER"],
    [405, "NOT_A_TOOL_SERVER"],
    [204, "NOT_A_TOOL_SERVER"],
    [502, "SERVER_FAILED"],
  ])("reports the status %i of the event stream as %s", async (status, code) => {
    const server = await serve((_, response) => response.writeHead(status).end());
    expect(await failedStart(prepare(server))).toMatchObject({ code, details: { status } });
  });

  test.each(["text/html", "application/json", undefined])(
    "reports a page of type %s as NOT_A_TOOL_SERVER",
    async (type) => {
      const server = await serve((_, response) => {
        response.writeHead(200, type === undefined ? {} : { "content-type": type }).end("<html>Hello</html>");
      });
      const error = await failedStart(prepare(server));
      expect(error).toMatchObject({ code: "NOT_A_TOOL_SERVER" });
      expect(error.message).toContain("use the type http");
    },
  );

  test("follows no redirect of the event stream or of messages", async () => {
    const other = await serve((_, response) => beginStream(response));
    const redirecting = await serve((_, response) => response.writeHead(302, { Location: String(other.url) }).end());
    expect(await failedStart(prepare(redirecting))).toMatchObject({ code: "REDIRECT_REFUSED" });
    const endpoints = [
      () => `${other.url.origin}/messages`,
      () => "//evil.example/messages",
      () => "file:///messages",
      (host: string | undefined) => `http://user@${host}/messages`,
      (host: string | undefined) => `http://:password@${host}/messages`,
    ];
    for (const endpoint of endpoints) {
      const server = await serve(({ headers }, response) => beginStream(response, endpoint(headers.host)));
      expect(await failedStart(prepare(server))).toMatchObject({ code: "REDIRECT_REFUSED" });
    }
    const wrong = await serve((_, response) => beginStream(response, "http://["));
    expect(await failedStart(prepare(wrong))).toMatchObject({ code: "NOT_A_TOOL_SERVER" });
    expect(other.requests).toEqual([]);
  });

  test("reports NOT_A_TOOL_SERVER if the stream does not name the endpoint for messages in time", async () => {
    const clock = createFakeClock();
    const server = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: hello\n\n");
    });
    const subject = prepare(server, { clock });
    const starting = failedStart(subject);
    await vi.waitFor(() => expect(subject.published.traceEvents).toHaveLength(1), waiting);
    clock.advance(defaultLimits.connectMs);
    const error = await starting;
    expect(error).toMatchObject({ code: "NOT_A_TOOL_SERVER" });
    expect(error.message).toContain("endpoint for messages within 10000 ms. It never responded, but wrote text");
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
    const prompt = prepare(await serveSse(() => {}), { clock });
    await prompt.transport.start();
    expect(clock.waiting).toBe(0);
  });

  test("reports CONNECTION_LOST if the stream ends before it names the endpoint for messages", async () => {
    const server = await serve((_, response) => response.writeHead(200, { "content-type": "text/event-stream" }).end());
    expect(await failedStart(prepare(server))).toMatchObject({ code: "CONNECTION_LOST", advice: "Connect again." });
  });

  test("ends the transport when the event stream ends or breaks off", async () => {
    for (const end of [(stream: ServerResponse) => stream.end(), (stream: ServerResponse) => stream.destroy()]) {
      const server = await serveSse(() => {});
      const { transport, failure } = prepare(server);
      await transport.start();
      // The server accepted it and would respond on the stream, or has not accepted it yet.
      const sending = transport.send(requestOf(1)).catch((error: unknown) => error);
      await vi.waitFor(() => expect(server.requests).toHaveLength(2), waiting);
      end(server.streams[0]!);
      expect(await failure()).toMatchObject({ code: "CONNECTION_LOST" });
      expect(await sending).toMatchObject({ code: "CONNECTION_LOST", details: { wasSent: true } });
    }
  });

  test("[TS-D-CONN-1] rejects a message that waits for its credential as not sent, before it reports its end", async () => {
    const server = await serveSse(() => {});
    const credential: Credential = {
      ...createNoCredential({ server: "notes" }),
      headersNow: () => undefined,
      headers: (request) => (request?.method === "GET" ? Promise.resolve({}) : new Promise(() => {})),
    };
    const { transport } = prepare(server, { credential });
    await transport.start();
    const order: unknown[] = [];
    transport.onclose = () => void order.push("closed");
    const sending = transport.send(requestOf(1)).catch((error: unknown) => void order.push(error));
    server.streams[0]?.end();
    await sending;
    await vi.waitFor(() => expect(order).toHaveLength(2), waiting);
    expect(order).toMatchObject([{ code: "CONNECTION_LOST", details: { wasSent: false } }, "closed"]);
  });

  test("ends the transport at an event that is larger than the limit", async () => {
    const server = await serveSse(() => {});
    const { transport, failure, messages } = prepare(server, { limits: { ...defaultLimits, messageBytes: 1000 } });
    await transport.start();
    server.streams[0]?.write(`data: ${"x".repeat(2000)}\n\n`);
    expect(await failure()).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
    expect(messages).toEqual([]);
  });

  test("accepts other events, comments, and messages over several lines", async () => {
    const server = await serveSse(() => {});
    const { transport, messages, published } = prepare(server);
    await transport.start();
    server.streams[0]?.write(
      ': ping\n\nevent: ping\ndata: 1\n\nid: 7\n\ndata: {"jsonrpc":"2.0",\ndata: "method":"test/noted"}\r\n\r\n',
    );
    await vi.waitFor(() => expect(messages).toEqual([{ jsonrpc: "2.0", method: "test/noted" }]), waiting);
    expect(published.traceEvents).toEqual([]);
  });

  test("leaves nothing behind if it is closed while it waits for the stream", async () => {
    const server = await serve(() => {});
    const { transport, closings } = prepare(server);
    const starting = transport.start().catch((error: unknown) => error);
    await vi.waitFor(() => expect(server.requests).toHaveLength(1), waiting);
    await transport.close();
    expect(await starting).toMatchObject({ code: "CONNECTION_CLOSED" });
    expect(closings()).toBe(1);
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });
});

describe("a posted message", () => {
  test.each([200, 202, 204])(
    "delivers a message once if it is accepted with %i, and keeps the stream open",
    async (status) => {
      const server = await serveSse((_, response) => response.writeHead(status).end());
      const { transport, messages } = prepare(server);
      await transport.start();
      await transport.send(requestOf(1));
      const posts = server.requests.filter(({ method }) => method === "POST");
      expect(posts.map(({ body }) => JSON.parse(body))).toEqual([requestOf(1)]);
      expect(transport.failure).toBeUndefined();
      server.streams[0]?.write('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
      await vi.waitFor(() => expect(messages).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]), waiting);
    },
  );

  test("sends a message once more with the credential's new headers after a refusal, and the next with them at once (failures 13 and 14)", async () => {
    const server = await serveSse(({ headers }, response) => {
      response.writeHead(headers.authorization === "Bearer new-t0ken" ? 202 : 401).end();
    });
    const headers = [{ Authorization: "Bearer old-t0ken" }, { Authorization: "Bearer new-t0ken" }];
    const { transport, refusals } = prepare(server, { headers });
    await transport.start();
    await transport.send(requestOf(1));
    await transport.send(requestOf(2));
    expect(refusals).toEqual([401]);
    const posts = server.requests.filter(({ method }) => method === "POST");
    expect(posts.map(({ headers: sent }) => sent.authorization)).toEqual([
      "Bearer old-t0ken",
      "Bearer new-t0ken",
      "Bearer new-t0ken",
    ]);
  });

  test("fails only the message that is refused again, with a diagnosis", async () => {
    const server = await serveSse((_, response) => response.writeHead(403).end());
    const { transport } = prepare(server, { headers: [{ "X-API-Key": "k3y-of-notes" }] });
    await transport.start();
    await expect(transport.send(requestOf(1))).rejects.toMatchObject({
      code: "FORBIDDEN",
      details: {
        status: 403,
        causes: expect.arrayContaining([expect.objectContaining({ code: "permission-missing" })]),
      },
    });
    expect(transport.failure).toBeUndefined();
  });

  test.each([
    [404, "Not Found"],
    [400, "No transport found for sessionId"],
    [410, ""],
  ])("ends with SESSION_LOST if the server forgot the session: failure 27 (%i %s)", async (status, text) => {
    const server = await serveSse((_, response) => response.writeHead(status).end(text));
    const { transport, failure } = prepare(server);
    await transport.start();
    const error = await transport.send(requestOf(1)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "SESSION_LOST", details: { status, wasSent: false } });
    expect(await failure()).toBe(error);
  });

  test.each([
    [400, "SERVER_FAILED"],
    [413, "MESSAGE_TOO_LARGE"],
    [500, "SERVER_FAILED"],
  ])("reports the status %i of a message as %s, without secrets, and keeps the stream", async (status, code) => {
    const secret = "s3cr3t-t0ken";
    const server = await serveSse((_, response) => response.writeHead(status).end(`bad \u001b[1m ${secret}`));
    const { transport } = prepare(server, { secret });
    await transport.start();
    await expect(transport.send(requestOf(1))).rejects.toMatchObject({
      code,
      details: { status },
      message: expect.stringContaining(`returned ${status} to POST /messages. It says: "bad \\x1b[1m [redacted]`),
    });
    expect(transport.failure).toBeUndefined();
  });

  test("sends no message before the start, and does not start twice", async () => {
    const server = await serveSse((_, response) => response.writeHead(202).end());
    const { transport } = prepare(server);
    await expect(transport.send(requestOf(1))).rejects.toBeInstanceOf(TypeError);
    await transport.start();
    await expect(transport.start()).rejects.toBeInstanceOf(TypeError);
    await transport.send(requestOf(1));
  });
});
