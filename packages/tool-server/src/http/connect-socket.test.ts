import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import type { TLSSocket } from "node:tls";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createTestContext } from "../connection/transports/transport-context.test.helper.js";
import type { NetworkSocketInfo } from "../connection-info.js";
import type { ToolServerError } from "../errors.js";
import { failureOf } from "../failure-of.test.helper.js";
import { createFakeClock } from "../fake-clock.test.helper.js";
import { createSecretRegistry } from "../secrets/redactor.js";
import { waiting } from "../waiting.test.helper.js";
import { startConnectProxy } from "./connect-proxy.test.helper.js";
import { createHttpClient, type HttpClientOptions } from "./create-http-client.js";
import {
  certificate,
  type HostileHandler,
  serverTls,
  startHostileServer,
  startRawServer,
} from "./hostile-http-server.test.helper.js";
import type { HttpClient, SocketOptions } from "./http-client.js";
import { createSelfSigned } from "./self-signed.test.helper.js";

/** Resolves every name that ends with .test to this machine, and no other. */
const lookup: LookupFunction = (host, options, callback) => {
  if (!host.endsWith(".test") && host !== "localhost") {
    callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" }), "", 0);
  } else if (options.all) {
    callback(null, [{ address: "127.0.0.1", family: 4 }]);
  } else {
    callback(null, "127.0.0.1", 4);
  }
};

function createTestClient(options: Partial<HttpClientOptions> = {}): HttpClient {
  const { server, info, secrets } = createTestContext("http");
  const http = createHttpClient({ server, secrets, transport: () => info, lookup, ...options });
  onTestFinished(() => http.close());
  return http;
}

async function textFrom(http: HttpClient, url: string | URL, options: SocketOptions = {}): Promise<string> {
  const response = await http.send({ method: "GET", url: new URL(url), headers: {}, ...options });
  return response.text(1000);
}

async function failureFrom(http: HttpClient, url: string | URL, options: SocketOptions = {}): Promise<ToolServerError> {
  const error = await failureOf(textFrom(http, url, options));
  expect(error).toMatchObject({ code: "SERVER_UNREACHABLE", details: { wasSent: false } });
  return error;
}

const trusted = (): Partial<HttpClientOptions> => ({ tls: { ca: certificate("ca") } });
const greeter = (_: unknown, response: { end(text: string): unknown }): unknown => response.end("hello");

describe("a server that cannot be reached", () => {
  test("reports a host name that is not known", async () => {
    const { message } = await failureFrom(createTestClient(), "https://api.example.com/mcp");
    expect(message).toBe(
      'Cannot reach the server "notes" at api.example.com:443: the host name api.example.com does not exist (ENOTFOUND). Check the host in the URL, and that this machine can resolve names.',
    );
  });

  test("reports a port on which nothing listens", async () => {
    const server = await startRawServer(() => {});
    server.kill();
    const { message } = await failureFrom(createTestClient(), `http://gone.test:${server.port}/`, {
      peer: "the token endpoint",
    });
    expect(message).toContain(
      `Cannot reach the token endpoint at gone.test:${server.port}: nothing listens there (ECONNREFUSED).`,
    );
  });

  test("reports a server that does not continue the TLS handshake in time", async () => {
    const server = await startRawServer((socket) => socket.resume());
    const clock = createFakeClock();
    const http = createTestClient({ clock, connectMs: 7000 });
    const failure = failureFrom(http, `https://slow.test:${server.port}/`);
    await vi.waitFor(() => expect(server.sockets.size).toBe(1), waiting);
    clock.advance(7000);
    expect((await failure).message).toContain("it took longer than 7 s");
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
    expect(clock.waiting).toBe(0);
  });

  test("reports an address that is not allowed, whether it is in the URL or behind the name", async () => {
    const server = await startHostileServer(greeter);
    const http = createTestClient();
    const asked: string[][] = [];
    const isAddressAllowed = (address: string, host: string): boolean => {
      asked.push([address, host]);
      return false;
    };
    const named = await failureFrom(http, `http://inside.test:${server.port}/`, { isAddressAllowed });
    expect(named.message).toContain("inside.test resolves to 127.0.0.1, which is not allowed here");
    const bare = await failureFrom(http, `http://127.0.0.1:${server.port}/`, { isAddressAllowed });
    expect(bare.message).toContain("the address 127.0.0.1 is not allowed here");
    expect(asked).toEqual([
      ["127.0.0.1", "inside.test"],
      ["127.0.0.1", "127.0.0.1"],
    ]);
    expect(server.connections).toBe(0);

    // Nor over a socket that was opened for a request without that restriction.
    const url = `http://inside.test:${server.port}/`;
    expect(await textFrom(http, url)).toBe("hello");
    await failureFrom(http, url, { isAddressAllowed });
    expect(await textFrom(http, url, { isAddressAllowed: (address) => address === "127.0.0.1" })).toBe("hello");
    expect(server.connections).toBe(1);
  });
});

describe("a socket", () => {
  test("returns a socket that can be read as any stream, including bytes that came at once", async () => {
    const server = await startRawServer((socket) => socket.end("hello"));
    const { socket } = await createTestClient().openSocket(new URL(`http://notes.test:${server.port}/`));
    await vi.waitFor(() => expect(socket.readableLength).toBe(5), waiting);
    let text = "";
    for await (const chunk of socket) text += chunk;
    expect(text).toBe("hello");
  });

  test("connects to the address that responds if another of the same name refuses", async () => {
    const server = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const both: LookupFunction = (_, __, callback) =>
      callback(null, [
        { address: "::1", family: 6 },
        { address: "127.0.0.1", family: 4 },
      ]);
    const { port } = server.address() as AddressInfo;
    expect(await textFrom(createTestClient({ lookup: both }), `http://both.test:${port}/`)).toBe("hello");
  });
});

describe("TLS", () => {
  test("[TS-D-HTTP-2] trusts a private CA in addition to the usual ones, and exposes the certificate", async () => {
    const server = await startHostileServer(greeter, { tls: serverTls() });
    const http = createTestClient(trusted());
    const response = await http.send({ method: "GET", url: server.url, headers: {} });
    expect(await response.text(10)).toBe("hello");
    const { socket } = response.socketInfo as NetworkSocketInfo & { socket: TLSSocket };
    expect(socket.getPeerCertificate().subject.CN).toBe("Wirescope test server");
    expect(socket.alpnProtocol).toBe("http/1.1");
    const bare = new URL(server.url);
    bare.hostname = "127.0.0.1";
    expect(await textFrom(createTestClient({ ...trusted(), lookup: undefined }), bare)).toBe("hello");
  });

  test("[TS-D-HTTP-2] checks the certificate for a socket that is not for HTTP as well", async () => {
    const server = await startHostileServer(greeter, { tls: serverTls() });
    const url = new URL(`wss://localhost:${server.port}`);
    const { socket } = await createTestClient(trusted()).openSocket(url);
    expect((socket as TLSSocket).authorized).toBe(true);
    await expect(createTestClient().openSocket(url)).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
  });

  test("names a CA that is not trusted", async () => {
    const server = await startHostileServer(greeter, { tls: serverTls() });
    const { message } = await failureFrom(createTestClient(), server.url);
    expect(message).toMatch(
      /the certificate of localhost is signed by a CA that is not trusted here \(\w+\)\..*NODE_EXTRA_CA_CERTS/,
    );
    expect(server.requests).toEqual([]);
  });

  test("names the hosts that a certificate is for", async () => {
    const server = await startHostileServer(greeter, { tls: serverTls() });
    const { message } = await failureFrom(createTestClient(trusted()), `https://other.test:${server.port}/`);
    expect(message).toContain(
      "the certificate is not valid for other.test, only for DNS:localhost, IP Address:127.0.0.1",
    );
  });

  test.each([
    ["has expired", 2020, 2021, "of localhost has expired (CERT_HAS_EXPIRED)"],
    ["is not valid yet", 2090, 2091, "of localhost is not valid yet"],
    ["is self-signed", 2020, 2090, "of localhost is self-signed"],
  ])("says that a certificate %s", async (_, from, until, words) => {
    const { cert, key } = createSelfSigned(from, until);
    const server = await startHostileServer(greeter, { tls: { cert, key } });
    const trust = words.includes("self-signed") ? {} : { tls: { ca: cert } };
    expect((await failureFrom(createTestClient(trust), server.url)).message).toContain(`the certificate ${words}`);
  });

  test("says that a port does not use TLS, or closes the connection during the handshake", async () => {
    const plain = await startHostileServer(greeter);
    expect((await failureFrom(createTestClient(), `https://localhost:${plain.port}/`)).message).toContain(
      "localhost does not use TLS on that port",
    );
    const rude = await startRawServer((socket) => socket.once("data", () => socket.destroy()));
    expect((await failureFrom(createTestClient(), `https://localhost:${rude.port}/`)).message).toContain(
      "closed the connection during the TLS handshake",
    );
  });

  test("sends a client certificate to a server that asks for it, and says that one is required if it is missing", async () => {
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      const tls = { ...serverTls(), ca: certificate("ca"), requestCert: true, rejectUnauthorized: true, maxVersion };
      const server = await startHostileServer(
        (request, response) => response.end((request.socket as TLSSocket).getPeerCertificate().subject.CN),
        { tls },
      );
      const client = { certificate: certificate("client"), key: certificate("client-key") };
      expect(await textFrom(createTestClient({ tls: { ca: certificate("ca"), ...client } }), server.url)).toBe(
        "Wirescope test client",
      );
      const { message } = await failureFrom(createTestClient(trusted()), server.url);
      expect(message).toContain("requires a client certificate");
      expect(server.requests).toHaveLength(1);
    }
  });

  test.each([
    [{ certificate: "x" }, "requires its key"],
    [{ certificate: "x", key: "y" }, "cannot be used"],
    [{ ca: "not PEM" }, "contains no certificate"],
  ])("refuses wrong TLS files before anything is sent (%#)", (tls, words) => {
    expect(() => createTestClient({ tls })).toThrow(
      expect.objectContaining({ code: "CREDENTIAL_UNUSABLE", message: expect.stringContaining(words) }),
    );
  });
});

describe("[TS-D-HTTP-2] a proxy of the environment", () => {
  test("tunnels every connection with CONNECT: to the server, to the authorization server and for WebSocket; the proxy resolves the names", async () => {
    const [plain, secure, proxy] = [
      await startHostileServer(greeter),
      await startHostileServer(greeter, { tls: serverTls() }),
      await startConnectProxy(),
    ];
    const http = createTestClient({
      ...trusted(),
      variables: { HTTP_PROXY: proxy.url(), https_proxy: proxy.url() },
      proxiesLoopback: true,
    });
    expect(await textFrom(http, `http://notes.test:${plain.port}/mcp`)).toBe("hello");
    expect(await textFrom(http, secure.url)).toBe("hello");
    const { socket } = await http.openSocket(new URL(`wss://localhost:${secure.port}/`));
    expect((socket as TLSSocket).authorized).toBe(true);
    expect(proxy.targets).toEqual([`notes.test:${plain.port}`, `localhost:${secure.port}`, `localhost:${secure.port}`]);
    expect(plain.requests[0]).toMatchObject({ url: "/mcp", headers: { host: `notes.test:${plain.port}` } });
    expect(plain.requests[0]?.headers).not.toHaveProperty("proxy-authorization");
  });

  test("connects to a proxy over TLS if its url says so, and never sends it the client's certificate", async () => {
    const tls = { ...serverTls(), ca: certificate("ca"), requestCert: true };
    const subject: HostileHandler = ({ socket }, response) =>
      response.end((socket as TLSSocket).getPeerCertificate().subject.CN);
    const secure = await startHostileServer(subject, { tls });
    const proxy = await startConnectProxy({ isSecure: true });
    const through = { variables: { ALL_PROXY: proxy.url() }, proxiesLoopback: true };
    const files = { ca: certificate("ca"), certificate: certificate("client"), key: certificate("client-key") };
    expect(await textFrom(createTestClient({ ...through, tls: files }), secure.url)).toBe("Wirescope test client");
    expect([proxy.targets.length, proxy.certificates()]).toEqual([1, 0]);
    const { message } = await failureFrom(createTestClient(through), secure.url);
    expect(message).toContain("the certificate of localhost is signed by a CA that is not trusted");
  });

  test("sends the proxy its credentials, and never shows the password", async () => {
    const server = await startHostileServer(greeter);
    const authorization = `Basic ${Buffer.from("me:p@ss/word1").toString("base64")}`;
    const proxy = await startConnectProxy({ authorization });
    const secrets = createSecretRegistry();
    const through = (userinfo?: string): HttpClient =>
      createTestClient({ secrets, variables: { HTTP_PROXY: proxy.url(userinfo) } });
    const url = `http://notes.test:${server.port}/`;
    expect(await textFrom(through("me:p%40ss%2Fword1"), url)).toBe("hello");
    expect(proxy.authorizations).toEqual([authorization]);
    expect(secrets.redact(`${authorization} p@ss/word1 p%40ss%2Fword1`)).not.toMatch(/word1|bWU6/);

    const { message } = await failureFrom(through("me:wr0ngpass"), url);
    expect(message).toBe(
      `Cannot reach the server "notes" at notes.test:${server.port} through the proxy localhost:${proxy.port} (HTTP_PROXY): the proxy returned 407 Proxy Authentication Required. It rejects the user or the password in HTTP_PROXY: correct them.`,
    );
    expect((await failureFrom(through(), url)).message).toContain(
      "It requires a user and a password: add them to HTTP_PROXY",
    );
  });

  test("names a proxy that refuses, cannot connect, or is not a proxy, with what to do", async () => {
    const cases: [string | undefined, string][] = [
      ["HTTP/1.1 403 Forbidden\r\n\r\n", "the proxy returned 403 Forbidden. It denies access to this host"],
      ["HTTP/1.1 502 Bad Gateway\r\n\r\n", "the proxy returned 502 Bad Gateway. It could not reach the server"],
      ["220 mail.example.com ESMTP\r\n", "the server there is not a proxy"],
      ["", "the connection was reset while connecting"],
    ];
    for (const [response, words] of cases) {
      const proxy = await startConnectProxy({ response });
      const http = createTestClient({ variables: { HTTPS_PROXY: proxy.url() } });
      const { message } = await failureFrom(http, "https://api.example.com/");
      expect(message).toContain(`at api.example.com:443 through the proxy localhost:${proxy.port} (HTTPS_PROXY)`);
      expect(message).toContain(words);
    }
    const http = createTestClient({ variables: { HTTPS_PROXY: "http://nowhere.example:3128" } });
    expect((await failureFrom(http, "https://api.example.com/")).message).toContain(
      "the host name nowhere.example does not exist (ENOTFOUND). Check the host in HTTPS_PROXY",
    );
  });

  test("gives up on a proxy that hangs, within the time limit", async () => {
    let bytes = "";
    const silent = await startRawServer((socket) =>
      socket.on("data", (chunk) => {
        bytes += chunk;
      }),
    );
    const clock = createFakeClock();
    const http = createTestClient({ clock, variables: { HTTPS_PROXY: `localhost:${silent.port}` } });
    const failure = failureFrom(http, "https://api.example.com/");
    await vi.waitFor(() => expect(silent.sockets.size).toBe(1), waiting);
    await vi.waitFor(() => expect(bytes).toContain("CONNECT api.example.com:443"), waiting);
    clock.advance(10_000);
    expect((await failure).message).toContain("it took longer than 10 s");
    await vi.waitFor(() => expect(silent.sockets.size).toBe(0), waiting);
  });
});
