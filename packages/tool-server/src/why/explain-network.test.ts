import { describe, expect, test } from "vitest";
import type { Variables } from "../config/substitute-entry.js";
import { startConnectProxy } from "../http/connect-proxy.test.helper.js";
import { certificate, serverTls, startRawServer } from "../http/hostile-http-server.test.helper.js";
import { createSelfSigned } from "../http/self-signed.test.helper.js";
import { explainEntry, firstOf, outcomesOf, startToolServer } from "./explain.test.helper.js";
import type { Explanation } from "./explanation.js";

const ca = certificate("ca");
const http = (url: string | URL) => ({ type: "http", url: String(url) });

describe("a proxy", () => {
  /** Explains a server behind a proxy, which resolves names in .test to this machine. */
  const throughProxy = async (proxy: string, host = "api.test", more: Variables = {}): Promise<Explanation> => {
    const server = await startToolServer(undefined, { tls: serverTls() });
    return explainEntry(http(`https://${host}:${server.port}/mcp`), { ca, variables: { HTTPS_PROXY: proxy, ...more } });
  };

  test("reports the variable of a proxy that contains no url", async () => {
    const explained = await throughProxy("socks5://localhost:1080");
    expect(firstOf(explained)).toMatchObject({ code: "proxy-unusable", fix: { command: "export HTTPS_PROXY=…" } });
    expect(outcomesOf(explained)).toMatchObject({ proxy: "failed", name: "skipped", http: "skipped" });
  });

  test("reports a proxy that cannot be reached, not the server", async () => {
    const dead = await startRawServer(() => {});
    dead.kill();
    const explained = await throughProxy(`http://localhost:${dead.port}`);
    expect(firstOf(explained)).toMatchObject({ code: "proxy-unreachable", fix: { command: "export HTTPS_PROXY=…" } });
  });

  test("suggests a user name for a proxy that requires credentials, without showing its password", async () => {
    const proxy = await startConnectProxy({ authorization: "Basic right" });
    const explained = await throughProxy(proxy.url("ada:the-wrong-password"));
    expect(firstOf(explained)).toMatchObject({
      code: "proxy-credentials",
      fix: { command: `export HTTPS_PROXY=http://user:password@localhost:${proxy.port}` },
    });
    expect(JSON.stringify(explained)).not.toContain("the-wrong-password");
  });

  test("suggests bypassing a proxy that refuses to connect", async () => {
    const proxy = await startConnectProxy({ response: "HTTP/1.1 403 Forbidden\r\n\r\n" });
    const explained = await throughProxy(proxy.url());
    expect(firstOf(explained)).toMatchObject({ code: "proxy-refuses", fix: { command: "export NO_PROXY=api.test" } });
    const extended = await throughProxy(proxy.url(), "api.test", { NO_PROXY: "a.test", no_proxy: "b.test" });
    expect(firstOf(extended).fix.command).toBe('export no_proxy="$no_proxy,api.test"');
    const blank = await throughProxy(proxy.url(), "api.test", { NO_PROXY: "a.test", no_proxy: " " });
    expect(firstOf(blank).fix.command).toBe('export NO_PROXY="$NO_PROXY,api.test"');
  });

  test("reports a proxy that is not a proxy at all", async () => {
    const noProxy = await startRawServer((socket) => socket.end("hello\r\n\r\n"));
    const explained = await throughProxy(`http://localhost:${noProxy.port}`);
    expect(firstOf(explained).code).toBe("proxy-refuses");
  });

  test("reports a proxy whose own certificate is untrusted, not the server", async () => {
    const proxy = await startConnectProxy({ isSecure: true });
    const server = await startToolServer(undefined, { tls: serverTls() });
    const explained = await explainEntry(http(`https://api.test:${server.port}/mcp`), {
      variables: { HTTPS_PROXY: proxy.url() },
    });
    expect(firstOf(explained).code).toBe("proxy-unreachable");
  });

  test("reports a working proxy as a successful step", async () => {
    const proxy = await startConnectProxy();
    const explained = await throughProxy(proxy.url(), "localhost.test");
    // The certificate is for localhost.
    expect(firstOf(explained)).toMatchObject({
      code: "certificate-host-mismatch",
      fix: { position: { file: "/plugin/.mcp.json", line: 5 } },
    });
    expect(firstOf(explained).evidence.join("\n")).toContain("DNS:localhost");
    expect(outcomesOf(explained)).toMatchObject({ proxy: "ok", name: "ok", connection: "ok", tls: "failed" });
    expect(proxy.targets.every((target) => target.startsWith("localhost.test:"))).toBe(true);
  });
});

describe("a host", () => {
  test("reports an unknown host name with the position of the url", async () => {
    const explained = await explainEntry(http("https://no-such-host.invalid/mcp"));
    expect(firstOf(explained)).toMatchObject({ code: "name-unknown", fix: { position: { line: 5 } } });
    expect(outcomesOf(explained)).toMatchObject({ name: "failed", connection: "skipped" });
  });

  test("reports the variable if the name of the host contains a tenant", async () => {
    const explained = await explainEntry(http("https://${TENANT_ID}.no-such-host.invalid/mcp"), {
      variables: { TENANT_ID: "acme" },
    });
    expect(firstOf(explained)).toMatchObject({ code: "name-unknown", fix: { command: "export TENANT_ID=…" } });
  });

  test("reports a host on which nothing listens", async () => {
    const dead = await startRawServer(() => {});
    dead.kill();
    const explained = await explainEntry(http(dead.url));
    expect(firstOf(explained)).toMatchObject({ code: "connection-refused", fix: { position: { line: 5 } } });
    expect(outcomesOf(explained)).toMatchObject({ name: "ok", connection: "failed", http: "skipped" });
  });

  test("reports a host that never responds after the timeout", async () => {
    const silent = await startRawServer(() => {});
    const explained = await explainEntry(http(`https://localhost:${silent.port}/mcp`), { responseMs: 500 });
    expect(firstOf(explained)).toMatchObject({
      code: "connection-timeout",
      fix: { command: "export HTTPS_PROXY=http://host:port" },
    });
  });

  test("reports a host that closes the connection", async () => {
    const rude = await startRawServer((socket) => socket.destroy());
    const explained = await explainEntry(http(rude.url));
    expect(firstOf(explained).code).toBe("connection-cut");
  });
});

describe("TLS", () => {
  const explainTls = async (tls: { cert: string; key: string }, authorities?: string): Promise<Explanation> => {
    const server = await startToolServer(undefined, { tls });
    return explainEntry(http(server.url), { ca: authorities });
  };

  test("reports an expired certificate with its times", async () => {
    const old = createSelfSigned(2000, 2001);
    const explained = await explainTls(old, old.cert);
    expect(firstOf(explained)).toMatchObject({ code: "certificate-expired", fix: { command: "date -u" } });
    expect(firstOf(explained).evidence.join("\n")).toContain(
      "valid from 2000-01-01T00:00:00Z until 2001-01-01T00:00:00Z",
    );
  });

  test("points to the clock if a certificate is not valid yet", async () => {
    const early = createSelfSigned(2090, 2099);
    const explained = await explainTls(early, early.cert);
    expect(firstOf(explained)).toMatchObject({ code: "certificate-not-yet-valid", fix: { command: "date -u" } });
  });

  test("reports a self-signed certificate with how to trust it", async () => {
    const explained = await explainTls(createSelfSigned(2020, 2090));
    const command = expect.stringMatching(/^wirescope why \S+ --ca \/path\/to\/ca\.pem$/);
    expect(firstOf(explained)).toMatchObject({ code: "certificate-self-signed", fix: { command } });
  });

  test("reports an unknown CA with the issuer and how to trust it", async () => {
    const explained = await explainTls(serverTls() as { cert: string; key: string });
    const command = expect.stringMatching(/^wirescope why \S+ --ca \/path\/to\/ca\.pem$/);
    expect(firstOf(explained)).toMatchObject({ code: "certificate-untrusted", fix: { command } });
    expect(firstOf(explained).evidence.join("\n")).toMatch(/signed by .+, valid from/);
    expect(outcomesOf(explained)).toMatchObject({ connection: "ok", tls: "failed", http: "skipped" });
  });

  test("reports a port that does not use TLS", async () => {
    const plain = await startToolServer();
    const explained = await explainEntry(http(`https://localhost:${plain.port}/mcp`));
    expect(firstOf(explained)).toMatchObject({ code: "not-tls", fix: { position: { line: 5 } } });
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)(
    "suggests the bridge if the server requires a client certificate (%s)",
    async (version) => {
      const tls = { ...serverTls(), ca, requestCert: true, rejectUnauthorized: true, maxVersion: version };
      const server = await startToolServer(undefined, { tls });
      const explained = await explainEntry(http(server.url), { ca });
      expect(firstOf(explained).code).toBe("client-certificate-required");
      expect(firstOf(explained).fix.write).toContain('"bridge", "--cert"');
    },
  );

  test("reports the reason if a TLS handshake fails for another one", async () => {
    // The alert of a server that supports only other TLS versions.
    const alert = Buffer.from("15030100020246", "hex");
    const old = await startRawServer((socket) => socket.once("data", () => socket.end(alert)));
    const explained = await explainEntry(http(`https://localhost:${old.port}/mcp`));
    expect(firstOf(explained)).toMatchObject({ code: "tls-failed", weight: 1 });
    expect(firstOf(explained).problem).toContain("ALERT_PROTOCOL_VERSION");
  });

  test("reports invalid TLS settings before anything connects", async () => {
    const server = await startToolServer();
    const explained = await explainEntry(http(server.url), { ca: "no certificate" });
    expect(firstOf(explained)).toMatchObject({ code: "settings-unusable", weight: 1 });
    expect(server.connections).toBe(0);
  });

  test("reports working TLS as a successful step", async () => {
    const server = await startToolServer(undefined, { tls: serverTls() });
    const explained = await explainEntry(http(server.url), { ca });
    expect(explained.isWell).toBe(true);
    expect(outcomesOf(explained)).toMatchObject({ tls: "ok", http: "ok", protocol: "ok" });
    expect(explained.requirements.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "ok", "ok", "ok", "ok"]);
  });
});
