import type { IncomingMessage, Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { describe, expect, test, vi } from "vitest";
import { WebSocketServer } from "ws";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { certificate, serverTls } from "../../http/hostile-http-server.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { defaultLimits } from "./transport.js";
import { requestOf } from "./watched-transport.test.helper.js";
import {
  failedUpgrade,
  granted,
  listen,
  prepareWebSocket,
  serveHttp,
  serveRaw,
  serveWebSockets,
} from "./websocket.test.helper.js";

describe("the upgrade", () => {
  test("[TS-D-TYPE-4] [TS-HEADER-3] offers the subprotocol mcp in the upgrade, and sends the headers of the credential", async () => {
    const server = await serveWebSockets(() => {});
    const headers = [{ Authorization: "Bearer s3cr3t-t0ken", "X-API-Key": "k3y-of-notes" }];
    const { transport, published } = prepareWebSocket(server, { headers });
    await transport.start();
    const [upgrade] = server.requests;
    expect(upgrade?.url).toBe("/mcp?v=1");
    expect(upgrade?.headers).toMatchObject({
      authorization: "Bearer s3cr3t-t0ken",
      "x-api-key": "k3y-of-notes",
      "sec-websocket-protocol": "mcp",
      upgrade: "websocket",
    });
    expect(upgrade?.headers).not.toHaveProperty("sec-websocket-extensions");
    expect(published.traceEvents).toEqual([]);
  });

  test("uses the client's TLS settings for the upgrade, with its own CA", async () => {
    const server = createSecureServer(serverTls());
    new WebSocketServer({ server }).on("connection", (socket) => {
      socket.on("message", (data) => socket.send(String(data)));
    });
    const secure = await listen(server as unknown as Server, "wss");
    const stranger = prepareWebSocket(secure);
    expect(await failedUpgrade(stranger)).toMatchObject({ code: "SERVER_UNREACHABLE" });
    const { transport, messages } = prepareWebSocket(secure, { http: { tls: { ca: certificate("ca") } } });
    await transport.start();
    await transport.send({ jsonrpc: "2.0", method: "test/noted" });
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
  });

  test("requests the upgrade once more with the credential's new headers after a refusal", async () => {
    const server = await serveWebSockets(() => {}, {
      verifyClient: ({ req }, done) => done(req.headers.authorization === "Bearer new-t0ken", 401, "No"),
    });
    const headers = [{ Authorization: "Bearer old-t0ken" }, { Authorization: "Bearer new-t0ken" }];
    const { transport, refusals, published } = prepareWebSocket(server, { headers });
    await transport.start();
    expect(refusals).toEqual([401]);
    expect(server.requests).toHaveLength(2);
    expect(published.traceEvents).toMatchObject([
      { severity: "warning", text: expect.stringContaining("returned 401") },
    ]);
  });

  test("fails with UNAUTHORIZED or FORBIDDEN and a diagnosis without the secret if the upgrade is refused again", async () => {
    for (const [status, code] of [
      [401, "UNAUTHORIZED"],
      [403, "FORBIDDEN"],
    ] as const) {
      const server = await serveHttp((_, response) => {
        response.writeHead(status, {
          "WWW-Authenticate": 'Bearer error="invalid_token", error_description="bare-t0ken"',
        });
        response.end("no");
      });
      const subject = prepareWebSocket(server, {
        headers: [{ Authorization: "bare-t0ken" }, { Authorization: "bare-t0ken2" }],
      });
      const error = await failedUpgrade(subject);
      expect(error).toMatchObject({ code, details: { status } });
      expect(error.message).toContain('Authorization (from API_TOKEN) starts with neither "Bearer " nor "Basic "');
      expect(error.details.causes?.[0]?.code).toBe("scheme-missing");
      expect(subject.refusals).toEqual([status, status]);
      expect(server.requests).toHaveLength(2);
      expect(JSON.stringify([error.message, error.details, subject.published.words()])).not.toContain("bare-t0ken");
    }
  });

  test("does not follow a redirect of the upgrade", async () => {
    const other = await serveHttp((_, response) => response.end());
    const target = other.url.replace("ws:", "http:");
    const server = await serveHttp((_, response) => response.writeHead(307, { Location: target }).end());
    const error = await failedUpgrade(prepareWebSocket(server, { headers: [{ "X-API-Key": "k3y-of-notes" }] }));
    expect(error).toMatchObject({ code: "REDIRECT_REFUSED", details: { status: 307 } });
    expect(error.message).toContain(`redirects it to ${new URL(target).origin}.`);
    expect(other.requests).toEqual([]);
  });

  test.each([
    [200, "NOT_A_TOOL_SERVER"],
    [404, "NOT_A_TOOL_SERVER"],
    [426, "NOT_A_TOOL_SERVER"],
    [429, "SERVER_FAILED"],
    [503, "SERVER_FAILED"],
  ])("reports the status %i of the upgrade as %s", async (status, code) => {
    const server = await serveHttp((_, response) => response.writeHead(status).end("<html>".repeat(100_000)));
    expect(await failedUpgrade(prepareWebSocket(server))).toMatchObject({ code, details: { status } });
  });

  test("fails in time if the upgrade never gets a response", async () => {
    const server = await serveRaw(() => {});
    const subject = prepareWebSocket(server, { limits: { ...defaultLimits, connectMs: 50 } });
    expect(await failedUpgrade(subject)).toMatchObject({
      code: "SERVER_UNREACHABLE",
      message: expect.stringContaining("within 50 ms"),
    });
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });

  test("reports SERVER_UNREACHABLE if nothing listens, or the connection is closed", async () => {
    expect(await failedUpgrade(prepareWebSocket({ url: "ws://127.0.0.1:1/" }))).toMatchObject({
      code: "SERVER_UNREACHABLE",
    });
    const server = await serveRaw((_, socket) => socket.destroy());
    expect(await failedUpgrade(prepareWebSocket(server))).toMatchObject({ code: "SERVER_UNREACHABLE" });
  });

  test.each([
    ["not HTTP", () => "SSH-2.0-OpenSSH_9.7\r\n\r\n"],
    ["a wrong key", () => granted({ headers: {} } as IncomingMessage)],
    ["another subprotocol", (upgrade: IncomingMessage) => granted(upgrade, "Sec-WebSocket-Protocol: chat")],
    [
      "an extension that nobody asked for",
      (upgrade: IncomingMessage) => granted(upgrade, "Sec-WebSocket-Extensions: permessage-deflate"),
    ],
  ])("reports NOT_A_TOOL_SERVER if the response to the upgrade is %s", async (_, response) => {
    const server = await serveRaw((upgrade, socket) => socket.write(response(upgrade)));
    expect(await failedUpgrade(prepareWebSocket(server))).toMatchObject({ code: "NOT_A_TOOL_SERVER" });
  });

  test("accepts an upgrade without a subprotocol, with a warning", async () => {
    const server = await serveWebSockets((socket) => socket.on("message", (data) => socket.send(String(data))), {
      handleProtocols: () => false,
    });
    const { transport, messages, published } = prepareWebSocket(server);
    await transport.start();
    await transport.send(requestOf(1));
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
    expect(published.traceEvents).toMatchObject([
      { severity: "warning", text: expect.stringContaining("subprotocol mcp") },
    ]);
  });

  test("loses no message that comes with the response to the upgrade", async () => {
    const text = '{"jsonrpc":"2.0","method":"test/noted"}';
    const server = await serveRaw((upgrade, socket) => {
      const frame = Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]);
      socket.write(Buffer.concat([Buffer.from(granted(upgrade, "Sec-WebSocket-Protocol: mcp")), frame]));
    });
    const { transport, messages } = prepareWebSocket(server);
    await transport.start();
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
  });

  test("leaves nothing behind if it is closed during the upgrade", async () => {
    const server = await serveRaw(() => {});
    // No time limit ends it.
    const { transport, closings, published } = prepareWebSocket(server, { clock: createFakeClock() });
    const starting = transport.start().catch((error: unknown) => error);
    await vi.waitFor(() => expect(server.requests).toHaveLength(1), waiting);
    await transport.close();
    expect(await starting).toMatchObject({ code: "CONNECTION_CLOSED" });
    expect(transport.failure).toBeUndefined();
    expect(closings()).toBe(1);
    await vi.waitFor(() => {
      expect(server.sockets.size).toBe(0);
      expect(published.totals()).toMatchObject({ opened: 1, closed: 1 });
    }, waiting);
  });
});
