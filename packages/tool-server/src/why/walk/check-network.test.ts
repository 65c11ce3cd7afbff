import type { ServerOptions } from "node:https";
import { connect, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { testTransport } from "../../auth/oauth/oauth-world.test.helper.js";
import { type ConnectingDetails, ToolServerError } from "../../errors.js";
import { startConnectProxy } from "../../http/connect-proxy.test.helper.js";
import { createHttpClient } from "../../http/create-http-client.js";
import {
  certificate,
  serverTls,
  startHostileServer,
  startRawServer,
} from "../../http/hostile-http-server.test.helper.js";
import { createSelfSigned } from "../../http/self-signed.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { NetworkEvidence } from "../evidence.js";
import { createTestWalk } from "../explain.test.helper.js";
import type { ExplainOptions } from "../explanation.js";
import { checkNetwork, classify } from "./check-network.js";

const ca = certificate("ca");

async function check(url: string, options: Partial<ExplainOptions> = {}): Promise<NetworkEvidence> {
  const secrets = createSecretRegistry();
  secrets.add("a-secret-of-mine");
  const walk = createTestWalk({ type: "http", url: "https://api.example/" }, { variables: {}, ...options, secrets });
  const http = createHttpClient({
    server: "api",
    transport: () => testTransport,
    variables: walk.variables,
    tls: walk.ca === undefined ? undefined : { ca: walk.ca },
    secrets,
  });
  onTestFinished(() => http.close());
  return checkNetwork(walk, new URL(url), http);
}

describe("a connection", () => {
  test("reports a connection with its addresses and TLS, sends nothing, and closes it", async () => {
    const server = await startHostileServer(() => {}, { tls: serverTls() });
    const network = await check(`https://localhost:${server.port}/mcp`, {
      ca,
      variables: { NODE_EXTRA_CA_CERTS: "/a/file" },
    });
    expect(network).toEqual({
      host: "localhost",
      port: server.port,
      isSecure: true,
      authorities: ["--ca", "NODE_EXTRA_CA_CERTS"],
      proxy: undefined,
      addresses: expect.arrayContaining([expect.stringMatching(/^(127\.0\.0\.1|::1)$/)]),
      connected: {
        address: expect.stringMatching(/^(127\.0\.0\.1|\[::1\]):\d+$/),
        tls: expect.stringMatching(/^TLSv1\.3, its certificate valid until 20\d\d-.*Z, signed by \S/),
      },
    });
    expect(server.requests).toEqual([]);
    await expect.poll(() => server.sockets.size).toBe(0);
  });

  test("reports a connection without TLS, and does not resolve an address", async () => {
    const server = await startHostileServer(() => {});
    const network = await check(`ws://localhost:${server.port}/`);
    expect(network).toMatchObject({ isSecure: false, authorities: [], connected: { tls: undefined } });
    const literal = await check("wss://[::1]:1/");
    expect(literal).toMatchObject({ isSecure: true, host: "::1", addresses: ["::1"] });
    expect(literal.failure).toMatchObject({ stage: "connection" });
  });

  test("reports a connection through a proxy with the name, the variable and the addresses of the proxy", async () => {
    const server = await startHostileServer(() => {}, { tls: serverTls() });
    const proxy = await startConnectProxy({ everythingTo: server.port });
    const network = await check("https://api.test/", { variables: { HTTPS_PROXY: proxy.url("me:a-secret-of-mine") } });
    expect(network).toMatchObject({
      host: "api.test",
      proxy: { name: `localhost:${proxy.port}`, variable: "HTTPS_PROXY" },
      addresses: expect.arrayContaining([expect.stringMatching(/^(127\.0\.0\.1|::1)$/)]),
      failure: { stage: "tls" },
      // Read in another connection through the same proxy.
      certificate: { names: expect.stringContaining("DNS:localhost") },
    });
    expect(proxy.targets).toEqual(["api.test:443", "api.test:443"]);
    expect(server.requests).toEqual([]);
  });

  test("reports a proxy that is invalid without its secret, and does not connect", async () => {
    const network = await check("https://api.test/", { variables: { HTTPS_PROXY: "socks5://a-secret-of-mine:1080" } });
    expect(network).toMatchObject({ addresses: [], failure: { stage: "proxy", code: "", variable: "HTTPS_PROXY" } });
    expect(JSON.stringify(network)).not.toContain("a-secret-of-mine");
  });
});

describe("the certificate that TLS rejects", () => {
  test("reports the certificate that TLS rejects, and sends nothing to the server", async () => {
    const server = await startHostileServer(() => {}, { tls: createSelfSigned(2020, 2090, ["localhost", "a.test"]) });
    const { failure, certificate } = await check(server.url.href);
    expect(failure).toMatchObject({ stage: "tls", code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(certificate).toEqual({
      subject: "localhost",
      issuer: "localhost",
      names: "DNS:localhost, DNS:a.test",
      validFrom: "2020-01-01T00:00:00Z",
      validTo: "2090-01-01T00:00:00Z",
    });
    expect(server.requests).toEqual([]);
    await expect.poll(() => server.sockets.size).toBe(0);
  });

  test.each([
    ["localhost", ["localhost", "localhost"]],
    ["127.0.0.1", []],
  ])("asks for the certificate of the host, as the connection does: %s", async (host, asked) => {
    const names: string[] = [];
    const own = createSelfSigned(2020, 2090);
    const SNICallback: ServerOptions["SNICallback"] = (name, done) => {
      names.push(name);
      done(null, createSecureContext(own));
    };
    const server = await startHostileServer(() => {}, { tls: { ...own, SNICallback } });
    const { certificate } = await check(`https://${host}:${server.port}/`);
    expect(certificate).toMatchObject({ validTo: "2090-01-01T00:00:00Z" });
    expect(names).toEqual(asked);
  });

  test("closes the connection with which it read the certificate", async () => {
    const own = createSelfSigned(2020, 2090);
    const secure = (socket: Socket) => new TLSSocket(socket, { isServer: true, ...own }).on("error", () => {});
    const server = await startRawServer(secure);
    const { certificate } = await check(`https://localhost:${server.port}/`);
    expect(certificate).toBeDefined();
    expect(server.connections).toBe(2);
    await expect.poll(() => server.sockets.size).toBe(0);
  });

  test("does not read the certificate of a server through a proxy that requires TLS itself", async () => {
    const server = await startHostileServer(() => {}, { tls: createSelfSigned(2020, 2090) });
    const proxy = await startConnectProxy({ isSecure: true, everythingTo: server.port });
    const { failure, certificate } = await check("https://api.test/", { ca, variables: { HTTPS_PROXY: proxy.url() } });
    expect(failure?.stage).toBe("tls");
    expect(certificate).toBeUndefined();
    expect(proxy.targets).toHaveLength(1);
  });

  test("sends the credential of a proxy that requires TLS to it only over TLS", async () => {
    const server = await startHostileServer(() => {}, { tls: createSelfSigned(2020, 2090) });
    const proxy = await startConnectProxy({ isSecure: true, everythingTo: server.port });
    let received = "";
    const before = await startRawServer((socket) => {
      const to = connect(proxy.port, "localhost").on("error", () => {});
      socket.on("data", (chunk) => {
        received += chunk.toString("latin1");
      });
      socket.pipe(to).pipe(socket);
    });
    const variables = { HTTPS_PROXY: `https://me:a-secret-of-mine@localhost:${before.port}` };
    const { failure } = await check("https://api.test/", { ca, variables });
    expect(failure?.stage).toBe("tls");
    expect(proxy.authorizations).toEqual([expect.stringMatching(/^Basic /)]);
    expect(before.connections).toBe(1);
    expect(received).not.toContain("CONNECT");
  });

  test("reads no certificate if the server does not use TLS", async () => {
    const server = await startHostileServer(() => {});
    const { failure, certificate } = await check(`https://localhost:${server.port}/`);
    expect(failure?.stage).toBe("tls");
    expect(certificate).toBeUndefined();
  });
});

describe("a connection failure", () => {
  const failed = (code: string, connecting: ConnectingDetails) =>
    new ToolServerError(
      "SERVER_UNREACHABLE",
      { problem: "the TLS handshake failed: the proxy returned 407", advice: "" },
      {
        cause: Object.assign(new Error(code), { code }),
        details: { connecting },
      },
    );

  test("classifies a connection failure by the stage it reached, whatever its message says", () => {
    const stageOf = (code: string, stage: ConnectingDetails["stage"], isProxyItself = false) =>
      classify(failed(code, { stage, isProxyItself })).stage;
    expect(stageOf("ENOTFOUND", "reaching")).toBe("name");
    expect(stageOf("EAI_AGAIN", "reaching")).toBe("name");
    expect(stageOf("ECONNREFUSED", "reaching")).toBe("connection");
    expect(stageOf("CERT_HAS_EXPIRED", "securing")).toBe("tls");
    expect(stageOf("ECONNREFUSED", "reaching", true)).toBe("proxy");
    expect(stageOf("CERT_HAS_EXPIRED", "securing", true)).toBe("proxy");
    const refused = failed("", { stage: "asking-proxy", isProxyItself: true, proxyStatus: 403 });
    expect(classify(refused)).toMatchObject({ stage: "proxy", proxyStatus: 403 });
  });

  test("classifies a failure before connecting as a timeout, otherwise as invalid settings", () => {
    const classified = (code: "CALL_TIMEOUT" | "CREDENTIAL_UNUSABLE" | "SERVER_UNREACHABLE", connecting?: object) =>
      classify(new ToolServerError(code, { problem: "No.", advice: "" }, { details: { connecting } as never }));
    expect(classified("CALL_TIMEOUT")).toEqual({ stage: "connection", code: "", message: "No." });
    expect(classified("CREDENTIAL_UNUSABLE", { stage: "securing" })).toMatchObject({ stage: "settings" });
    expect(classified("SERVER_UNREACHABLE")).toMatchObject({ stage: "settings" });
  });
});
