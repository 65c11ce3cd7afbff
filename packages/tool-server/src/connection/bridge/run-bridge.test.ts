import type { TLSSocket } from "node:tls";
import { describe, expect, test, vi } from "vitest";
import { certificate } from "../../http/hostile-http-server.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { clientTls, initialize, startBridge } from "./bridge.test.helper.js";
import { modern, startToolServer } from "./tool-server.test.helper.js";

describe("[TS-MTLS-3] a bridge does mutual TLS with the certificate and key that it is given", () => {
  test("in the older era, with the session and the version that were agreed on", async () => {
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

  test("in the newer era, with the headers that it demands", async () => {
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
      "with one that the server does not trust",
      { ...clientTls, certificate: certificate("other-client"), key: certificate("other-client-key") },
      /rejects the client certificate.*--cert and --key/,
    ],
    [
      "to a server whose authority is not trusted",
      { certificate: clientTls.certificate, key: clientTls.key },
      /CA that is not trusted here/,
    ],
  ])("%s every request gets an error with the reason", async (_, tls, expected) => {
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
    ["a file that is no certificate", { ...clientTls, certificate: "nonsense" }],
    ["an authority that is none", { ...clientTls, ca: "nonsense" }],
  ])("%s is refused at once, without a word of the key", async (_, tls) => {
    const bridge = startBridge("https://localhost:1/mcp", { tls });
    const error: unknown = await bridge.ended.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "CREDENTIAL_UNUSABLE" });
    expect(String(error)).not.toContain("PRIVATE");
  });
});

describe("[TS-D-BRIDGE-1] every request gets a response", () => {
  test("with an error where the server is not there", async () => {
    const server = await startToolServer();
    server.kill();
    const bridge = startBridge(server.url);
    const responses = await Promise.all([bridge.ask("initialize"), bridge.ask("tools/list")]);
    for (const { error } of responses) {
      expect(error).toMatchObject({ code: -32000, message: expect.stringMatching(/nothing listens there/) });
    }
  });

  test("with an error if the server dies during 100 of them", async () => {
    const server = await startToolServer();
    const bridge = startBridge(server.url);
    await initialize(bridge);
    const calls = Array.from({ length: 100 }, () => bridge.ask("tools/call", { name: "wait" }));
    await vi.waitFor(() => expect(server.waiting).toHaveLength(100), waiting);
    server.kill();
    for (const { error } of await Promise.all(calls)) {
      expect(error).toMatchObject({ code: -32000, message: expect.stringContaining("closed the connection") });
    }
    expect(server.asked("tools/call")).toHaveLength(100);
  });

  test("with an error where it is no tool server, by what responds", async () => {
    const server = await startToolServer((_, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<html><title>Sign in</title>");
      return true;
    });
    const { error } = await startBridge(server.url).ask("initialize");
    expect(error?.message).toContain('an HTML page, titled "Sign in"');
  });

  test("over a new session where the server forgot the old one, which begins as the client began it", async () => {
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
    // The client does not hear of it.
    expect(bridge.lines.filter(({ result }) => result?.protocolVersion !== undefined)).toHaveLength(1);
  });

  test("with an error where the server begins no new session either", async () => {
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
