import { describe, expect, test } from "vitest";
import { startConnectProxy } from "../http/connect-proxy.test.helper.js";
import { certificate, serverTls, startRawServer } from "../http/hostile-http-server.test.helper.js";
import { createSelfSigned } from "../http/self-signed.test.helper.js";
import { explainEntry, firstOf, outcomesOf, startToolServer } from "./explain.test.helper.js";
import type { Explanation } from "./explanation.js";

const ca = certificate("ca");
const http = (url: string | URL) => ({ type: "http", url: String(url) });

describe("a proxy", () => {
  /** Explains a server behind a proxy: names that end in .test are this machine to it. */
  const throughProxy = async (proxy: string, host = "api.test"): Promise<Explanation> => {
    const server = await startToolServer(undefined, { tls: serverTls() });
    return explainEntry(http(`https://${host}:${server.port}/mcp`), { ca, variables: { HTTPS_PROXY: proxy } });
  };

  test("whose variable holds no url is told of, with the variable", async () => {
    const explained = await throughProxy("socks5://localhost:1080");
    expect(firstOf(explained)).toMatchObject({ cause: "proxy-unusable", mend: { command: "export HTTPS_PROXY=…" } });
    expect(outcomesOf(explained)).toMatchObject({ proxy: "failed", name: "skipped", http: "skipped" });
  });

  test("that cannot be reached is told of, and not the server", async () => {
    const dead = await startRawServer(() => {});
    dead.kill();
    const explained = await throughProxy(`http://localhost:${dead.port}`);
    expect(firstOf(explained)).toMatchObject({ cause: "proxy-unreachable", mend: { command: "export HTTPS_PROXY=…" } });
  });

  test("that wants to know who asks is given a user, and its password is not told", async () => {
    const proxy = await startConnectProxy({ authorization: "Basic right" });
    const explained = await throughProxy(proxy.url("ada:the-wrong-password"));
    expect(firstOf(explained)).toMatchObject({
      cause: "proxy-credentials",
      mend: { command: `export HTTPS_PROXY=http://user:password@localhost:${proxy.port}` },
    });
    expect(JSON.stringify(explained)).not.toContain("the-wrong-password");
  });

  test("that does not lead there is gone past", async () => {
    const proxy = await startConnectProxy({ response: "HTTP/1.1 403 Forbidden\r\n\r\n" });
    const explained = await throughProxy(proxy.url());
    expect(firstOf(explained)).toMatchObject({ cause: "proxy-refuses", mend: { command: "export NO_PROXY=api.test" } });
  });

  test("that is no proxy at all is told of", async () => {
    const noProxy = await startRawServer((socket) => socket.end("hello\r\n\r\n"));
    const explained = await throughProxy(`http://localhost:${noProxy.port}`);
    expect(firstOf(explained).cause).toBe("proxy-refuses");
  });

  test("whose own certificate is not trusted is told of, and not the server's", async () => {
    const proxy = await startConnectProxy({ isSecure: true });
    const server = await startToolServer(undefined, { tls: serverTls() });
    const explained = await explainEntry(http(`https://api.test:${server.port}/mcp`), {
      variables: { HTTPS_PROXY: proxy.url() },
    });
    expect(firstOf(explained).cause).toBe("proxy-unreachable");
  });

  test("shows in the walk where all is well", async () => {
    const proxy = await startConnectProxy();
    const explained = await throughProxy(proxy.url(), "localhost.test");
    // The certificate is for localhost.
    expect(firstOf(explained)).toMatchObject({
      cause: "certificate-host-mismatch",
      mend: { place: { file: "/plugin/.mcp.json", line: 5 } },
    });
    expect(firstOf(explained).evidence.join("\n")).toContain("DNS:localhost");
    expect(outcomesOf(explained)).toMatchObject({ proxy: "ok", name: "ok", connection: "ok", tls: "failed" });
    expect(proxy.targets.every((target) => target.startsWith("localhost.test:"))).toBe(true);
  });
});

describe("a host", () => {
  test("whose name is not known is told of, with the place of the url", async () => {
    const explained = await explainEntry(http("https://no-such-host.invalid/mcp"));
    expect(firstOf(explained)).toMatchObject({ cause: "name-unknown", mend: { place: { line: 5 } } });
    expect(outcomesOf(explained)).toMatchObject({ name: "failed", connection: "skipped" });
  });

  test("whose name is made of a tenant is told by the variable", async () => {
    const explained = await explainEntry(http("https://${TENANT_ID}.no-such-host.invalid/mcp"), {
      variables: { TENANT_ID: "acme" },
    });
    expect(firstOf(explained)).toMatchObject({ cause: "name-unknown", mend: { command: "export TENANT_ID=…" } });
  });

  test("where nothing listens is told of", async () => {
    const dead = await startRawServer(() => {});
    dead.kill();
    const explained = await explainEntry(http(dead.url));
    expect(firstOf(explained)).toMatchObject({ cause: "connection-refused", mend: { place: { line: 5 } } });
    expect(outcomesOf(explained)).toMatchObject({ name: "ok", connection: "failed", http: "skipped" });
  });

  test("that never answers is told of after a while", async () => {
    const silent = await startRawServer(() => {});
    const explained = await explainEntry(http(`https://localhost:${silent.port}/mcp`), { answerMs: 500 });
    expect(firstOf(explained)).toMatchObject({
      cause: "connection-timeout",
      mend: { command: "export HTTPS_PROXY=http://host:port" },
    });
  });

  test("that cuts the connection is told of", async () => {
    const rude = await startRawServer((socket) => socket.destroy());
    const explained = await explainEntry(http(rude.url));
    expect(firstOf(explained).cause).toBe("connection-cut");
  });
});

describe("TLS", () => {
  const explainTls = async (tls: { cert: string; key: string }, authorities?: string): Promise<Explanation> => {
    const server = await startToolServer(undefined, { tls });
    return explainEntry(http(server.url), { ca: authorities });
  };

  test("with a certificate that has expired is told with its times", async () => {
    const old = createSelfSigned(2000, 2001);
    const explained = await explainTls(old, old.cert);
    expect(firstOf(explained)).toMatchObject({ cause: "certificate-expired", mend: { command: "date -u" } });
    expect(firstOf(explained).evidence.join("\n")).toContain(
      "valid from 2000-01-01T00:00:00Z until 2001-01-01T00:00:00Z",
    );
  });

  test("with a certificate of the future asks for the clock", async () => {
    const early = createSelfSigned(2090, 2099);
    const explained = await explainTls(early, early.cert);
    expect(firstOf(explained)).toMatchObject({ cause: "certificate-not-yet-valid", mend: { command: "date -u" } });
  });

  test("with a certificate that signs itself is told how to trust it", async () => {
    const explained = await explainTls(createSelfSigned(2020, 2090));
    const command = expect.stringMatching(/^wirescope why \S+ --ca \/path\/to\/ca\.pem$/);
    expect(firstOf(explained)).toMatchObject({ cause: "certificate-self-signed", mend: { command } });
  });

  test("with an authority that is not known is told how to trust it, and by whom it is signed", async () => {
    const explained = await explainTls(serverTls() as { cert: string; key: string });
    const command = expect.stringMatching(/^wirescope why \S+ --ca \/path\/to\/ca\.pem$/);
    expect(firstOf(explained)).toMatchObject({ cause: "certificate-untrusted", mend: { command } });
    expect(firstOf(explained).evidence.join("\n")).toMatch(/signed by .+, valid from/);
    expect(outcomesOf(explained)).toMatchObject({ connection: "ok", tls: "failed", http: "skipped" });
  });

  test("that is not spoken on the port is told of", async () => {
    const plain = await startToolServer();
    const explained = await explainEntry(http(`https://localhost:${plain.port}/mcp`));
    expect(firstOf(explained)).toMatchObject({ cause: "tls-not-spoken", mend: { place: { line: 5 } } });
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)(
    "that wants a client certificate leads to the bridge (%s)",
    async (version) => {
      const tls = { ...serverTls(), ca, requestCert: true, rejectUnauthorized: true, maxVersion: version };
      const server = await startToolServer(undefined, { tls });
      const explained = await explainEntry(http(server.url), { ca });
      expect(firstOf(explained).cause).toBe("client-certificate-wanted");
      expect(firstOf(explained).mend.write).toContain('"bridge", "--cert"');
    },
  );

  test("whose handshake fails for another reason is told with it", async () => {
    // The alert that a server sends which speaks only versions that are not spoken here.
    const alert = Buffer.from("15030100020246", "hex");
    const old = await startRawServer((socket) => socket.once("data", () => socket.end(alert)));
    const explained = await explainEntry(http(`https://localhost:${old.port}/mcp`));
    expect(firstOf(explained)).toMatchObject({ cause: "tls-failed", weight: 1 });
    expect(firstOf(explained).message).toContain("ALERT_PROTOCOL_VERSION");
  });

  test("settings that cannot be used are told of before anything is connected to", async () => {
    const server = await startToolServer();
    const explained = await explainEntry(http(server.url), { ca: "no certificate" });
    expect(firstOf(explained)).toMatchObject({ cause: "settings-unusable", weight: 1 });
    expect(server.connections).toBe(0);
  });

  test("that is well is a step like the others", async () => {
    const server = await startToolServer(undefined, { tls: serverTls() });
    const explained = await explainEntry(http(server.url), { ca });
    expect(explained.isWell).toBe(true);
    expect(outcomesOf(explained)).toMatchObject({ tls: "ok", http: "ok", protocol: "ok" });
    expect(explained.demands.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "ok", "ok", "ok"]);
  });
});
