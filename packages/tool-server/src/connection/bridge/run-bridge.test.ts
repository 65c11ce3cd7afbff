import type { TLSSocket } from "node:tls";
import { describe, expect, test, vi } from "vitest";
import { certificate } from "../../http/hostile-http-server.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { clientTls, initialize, startBridge } from "./bridge.test.helper.js";
import { modern, startToolServer } from "./tool-server.test.helper.js";

describe("[TS-MTLS-3] mutual TLS of a bridge", () => {
  test("uses its certificate with an older-era server, with the negotiated session and version", async () => {
    let subject: unknown;
    const server = await startToolServer((_, _response, { socket }) => {
      subject = (socket as TLSSocket).getPeerCertificate().subject.CN;
      return false;
    });
    const bridge = startBridge(server.url);
    expect((await initialize(bridge)).result?.protocolVersion).toBe("2025-06-18");
    expect((await bridge.ask("tools/call", { name: "x" })).result?.got).toEqual({ name: "x" });
    expect(subject).toBe("Wirescope test client");
    const call = server.requests.find(({ body }) => body.includes("tools/call"));
    expect(call?.headers).toMatchObject({
      "mcp-protocol-version": "2025-06-18",
      "mcp-session-id": expect.stringContaining("session-"),
    });
    bridge.leave();
    await bridge.ended;
    expect(server.requests.at(-1)?.method).toBe("DELETE");
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });

  test("uses its certificate with a newer-era server, with the headers that it requires", async () => {
    const server = await startToolServer();
    const bridge = startBridge(server.url);
    const { result } = await bridge.ask("tools/call", modern({ name: "x" }));
    expect(result?.got).toMatchObject({ name: "x" });
    expect(server.requests[0]?.headers).toMatchObject({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "x",
    });
  });

  test.each([
    ["without a certificate", { ca: clientTls.ca }, /client certificate.*--cert and --key/],
    [
      "with a certificate that the server does not trust",
      { ...clientTls, certificate: certificate("other-client"), key: certificate("other-client-key") },
      /rejects the client certificate.*--cert and --key/,
    ],
    [
      "to a server whose CA is not trusted",
      { certificate: clientTls.certificate, key: clientTls.key },
      /CA that is not trusted here/,
    ],
  ])("returns an error with the reason to every request %s", async (_, tls, expected) => {
    const server = await startToolServer();
    const bridge = startBridge(server.url, { tls });
    const { error } = await bridge.ask("initialize");
    expect(error).toMatchObject({ code: -32000, message: expect.stringMatching(expected) });
    expect(bridge.problems.join()).toMatch(expected);
    expect(server.requests).toEqual([]);
  });

  test.each([
    ["a certificate without a key", { certificate: clientTls.certificate }],
    ["a key of another certificate", { ...clientTls, key: certificate("other-client-key") }],
    ["a file that is not a certificate", { ...clientTls, certificate: "nonsense" }],
    ["a CA file that is not a certificate", { ...clientTls, ca: "nonsense" }],
  ])("refuses %s at once, without quoting the key", async (_, tls) => {
    const bridge = startBridge("https://localhost:1/mcp", { tls });
    const error: unknown = await bridge.ended.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "CREDENTIAL_UNUSABLE" });
    expect(String(error)).not.toContain("PRIVATE");
  });
});

describe("[TS-D-BRIDGE-1] responses to every request", () => {
  test("returns an error if the server is unreachable", async () => {
    const server = await startToolServer();
    server.kill();
    const bridge = startBridge(server.url);
    const responses = await Promise.all([bridge.ask("initialize"), bridge.ask("tools/list")]);
    for (const { error } of responses) {
      expect(error).toMatchObject({ code: -32000, message: expect.stringMatching(/nothing listens there/) });
    }
  });

  test("returns an error to each request if the server dies during 20 of them", async () => {
    const server = await startToolServer();
    const bridge = startBridge(server.url);
    await initialize(bridge);
    const calls = Array.from({ length: 20 }, () => bridge.ask("tools/call", { name: "wait" }));
    await vi.waitFor(() => expect(server.waiting).toHaveLength(20), waiting);
    server.kill();
    for (const { error } of await Promise.all(calls)) {
      expect(error).toMatchObject({ code: -32000, message: expect.stringContaining("closed the connection") });
    }
    expect(server.asked("tools/call")).toHaveLength(20);
  });

  test("returns an error that describes the response if it is not a tool server", async () => {
    const server = await startToolServer((_, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<html><title>Sign in</title>");
      return true;
    });
    const { error } = await startBridge(server.url).ask("initialize");
    expect(error?.message).toContain('an HTML page, titled "Sign in"');
  });

  test("starts a new session like the client's first one if the server forgot the old one", async () => {
    const server = await startToolServer();
    const bridge = startBridge(server.url);
    await initialize(bridge);
    await bridge.ask("tools/call", { name: "before" });
    server.forget();
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => bridge.ask("tools/call", { name: `after ${index}` })),
    );
    expect(responses.map(({ result }) => result?.got)).toEqual(
      responses.map((_, index) => ({ name: `after ${index}` })),
    );
    expect(server.asked("initialize")).toHaveLength(2);
    expect(server.asked("initialize")[1]?.params).toEqual(server.asked("initialize")[0]?.params);
    expect(server.asked("notifications/initialized")).toHaveLength(2);
    // The client does not notice it.
    expect(bridge.lines.filter(({ result }) => result?.protocolVersion !== undefined)).toHaveLength(1);
  });

  test("returns an error if the server starts no new session either", async () => {
    let isStrict = false;
    const server = await startToolServer((message, response) => {
      if (!isStrict || message.method !== "initialize") return false;
      const error = { code: -32603, message: "no more sessions today" };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
      return true;
    });
    const bridge = startBridge(server.url);
    await initialize(bridge);
    isStrict = true;
    server.forget();
    expect((await bridge.ask("tools/list")).error?.message).toContain("no more sessions today");
    isStrict = false;
    expect((await bridge.ask("tools/list")).result).toBeDefined();
  });
});
