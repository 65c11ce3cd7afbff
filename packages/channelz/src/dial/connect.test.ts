import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server, createSecureServer, type Http2Server } from "node:http2";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import { type ChannelzListener, type ListenOptions, listenChannelz } from "../listener/listen.js";
import { createRegistry } from "../registry/registry.js";
import { type ChannelzConnection, type ConnectChannelzOptions, connectChannelz } from "./connect.js";

const pem = (name: string): string => readFileSync(new URL(`./testdata/${name}.pem`, import.meta.url), "utf8");
const ca = pem("ca");
const identity = { cert: pem("server"), key: pem("server-key") };
const clientIdentity = { cert: pem("client"), key: pem("client-key") };

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function serve(options: ListenOptions = {}): Promise<ChannelzListener> {
  const registry = createRegistry();
  registry.addServer({ name: "api" });
  const listener = await listenChannelz(registry, options);
  open.push(listener);
  return listener;
}

function dial(target: string, options: ConnectChannelzOptions = {}): ChannelzConnection {
  const connection = connectChannelz(target, { timeoutMs: 5000, ...options });
  open.push(connection);
  return connection;
}

async function listening(server: Server | Http2Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push({ close: () => new Promise((resolve) => server.close(resolve)) });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that does `onSocket` with each connection. */
async function rawPeer(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onSocket(socket);
  });
  const target = await listening(server);
  open.push({
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  });
  return target;
}

async function readsFrom(connection: ChannelzConnection): Promise<string | undefined> {
  return (await connection.getServers()).server[0]?.ref?.name;
}

describe("connectChannelz", () => {
  test("connects to a peer over TCP", async () => {
    const listener = await serve();
    const connection = dial(listener.address);
    expect(await readsFrom(connection)).toBe("api");
    expect(connection.target).toBe(listener.address);
  });

  test("connects over a Unix socket", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const listener = await serve({ path: join(folder, "channelz.sock") });
    expect(await readsFrom(dial(listener.address))).toBe("api");
  });

  test("connects over TLS with a given CA", async () => {
    const { address } = await serve({ tls: identity });
    expect(await readsFrom(dial(address, { tls: { ca } }))).toBe("api");
    expect(await readsFrom(dial(`https://${address}`, { tls: { ca: [ca] } }))).toBe("api");
  });

  test("connects over mutual TLS", async () => {
    const { address } = await serve({ tls: { ...identity, ca } });
    expect(await readsFrom(dial(address, { tls: { ca, ...clientIdentity } }))).toBe("api");
  });

  test("sends a bearer token or the given headers", async () => {
    const { address } = await serve({ token: "a-token-of-the-tests" });
    expect(await readsFrom(dial(address, { token: "a-token-of-the-tests" }))).toBe("api");
    expect(await readsFrom(dial(address, { headers: { authorization: "Bearer a-token-of-the-tests" } }))).toBe("api");
    await expect(readsFrom(dial(address))).rejects.toMatchObject({ code: "PEER_REFUSED" });
  });

  test("reconnects after the peer was down", async () => {
    const port = await freePort();
    const first = await serve({ port });
    const connection = dial(first.address);
    await readsFrom(connection);
    await first.close();
    await expect(readsFrom(connection)).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
    await serve({ port });
    expect(await readsFrom(connection)).toBe("api");
  });

  test("sends 200 concurrent reads over one connection", async () => {
    const listener = await serve();
    const connection = dial(listener.address);
    const names = await Promise.all(Array.from({ length: 200 }, () => readsFrom(connection)));
    expect(new Set(names)).toEqual(new Set(["api"]));
    expect(listener.stats().connectionsOpen).toBe(1);
  });
});

describe("a peer that cannot be reached", () => {
  async function failure(target: string, options: ConnectChannelzOptions = {}): Promise<string> {
    const error = await readsFrom(dial(target, options)).then(
      () => undefined,
      (reason: Error & { code: string }) => reason,
    );
    expect(error).toMatchObject({ name: "ChannelzError", code: "PEER_UNAVAILABLE" });
    expect(error?.message).toContain(target.replace(/^unix:/, ""));
    return error?.message ?? "";
  }

  test("reports PEER_UNAVAILABLE if nothing listens at the address", async () => {
    const server = createServer();
    const target = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await failure(target)).toMatch(/ECONNREFUSED.*is the process running/);
  });

  test("reports PEER_UNAVAILABLE if the socket file does not exist or is not a socket", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    expect(await failure(`unix:${join(folder, "none")}`)).toMatch(/ENOENT.*check the path/);
    writeFileSync(join(folder, "file"), "");
    expect(await failure(`unix:${join(folder, "file")}`)).toMatch(/Nothing listens on that socket file|not a socket/);
  });

  test("suggests --tls if only the peer uses TLS", async () => {
    const target = await listening(createSecureServer(identity));
    expect(await failure(target)).toContain("--tls");
  });

  test("reports PEER_UNAVAILABLE if only the client uses TLS", async () => {
    const target = await listening(createHttpServer());
    expect(await failure(target, { tls: true })).toContain("does not seem to speak TLS");
  });

  test("asks whether it is a gRPC port if the response is not HTTP/2", async () => {
    expect(await failure(await listening(createHttpServer()))).toContain("Check that it is a gRPC port.");
    expect(await failure(await rawPeer((socket) => socket.end("SSH-2.0-OpenSSH\r\n")))).toContain(
      "Check that it is a gRPC port.",
    );
  });

  test("reports PEER_UNAVAILABLE if the peer closes the connection at once or after the first bytes", async () => {
    expect(await failure(await rawPeer((socket) => socket.destroy()))).toContain("closed the connection");
    await failure(await rawPeer((socket) => socket.once("data", () => socket.resetAndDestroy())));
  });

  test("suggests a CA if the certificate is not trusted, and says if it is for another name", async () => {
    const { address } = await serve({ tls: identity });
    expect(await failure(address, { tls: true })).toContain("as the CA to trust (--ca in the shell, `ca` in code)");
    expect(await failure(address, { tls: { ca, serverName: "other.example" } })).toContain("for another name");
  });

  test("reports PEER_UNAVAILABLE if the peer requires a client certificate and gets none", async () => {
    const { address } = await serve({ tls: { ...identity, ca } });
    expect(await failure(address, { tls: { ca } })).toMatch(/client certificate/);
  });

  test("reports PEER_UNAVAILABLE if the peer does not negotiate HTTP/2 over TLS", async () => {
    const target = await listening(createTlsServer(identity));
    expect(await failure(target, { tls: { ca } })).toContain("not HTTP/2");
  });
});

test("reports a web server without gRPC as a peer without Channelz", async () => {
  const missing = await listening(createHttp2Server((_, response) => response.writeHead(404).end("<html>")));
  await expect(readsFrom(dial(missing))).rejects.toMatchObject({ code: "PEER_WITHOUT_CHANNELZ" });
  const page = await listening(createHttp2Server((_, response) => response.end("<html>")));
  await expect(readsFrom(dial(page))).rejects.toMatchObject({ code: "PEER_WITHOUT_CHANNELZ" });
});

test("times out if the peer accepts the connection and stays silent, even during the TLS handshake", async () => {
  const target = await rawPeer(() => {});
  await expect(readsFrom(dial(target, { timeoutMs: 50 }))).rejects.toMatchObject({ code: "PEER_TIMEOUT" });
  const error = await readsFrom(dial(target, { timeoutMs: 50, tls: true })).catch((reason: unknown) => reason);
  expect(["PEER_TIMEOUT", "PEER_UNAVAILABLE"]).toContain((error as { code: string }).code);
});

test("opens a new connection for the next read after a timeout", async () => {
  let connections = 0;
  const target = await rawPeer(() => {
    connections += 1;
  });
  const connection = dial(target, { timeoutMs: 50 });
  await expect(readsFrom(connection)).rejects.toMatchObject({ code: "PEER_TIMEOUT" });
  await expect(readsFrom(connection)).rejects.toMatchObject({ code: "PEER_TIMEOUT" });
  await expect.poll(() => connections).toBe(2);
});

test("rejects a response that exceeds the size limit", async () => {
  const { address } = await serve();
  await expect(readsFrom(dial(address, { maxMessageBytes: 3, package: "rpc.channelz.v1" }))).rejects.toMatchObject({
    code: "PEER_FAILED",
    message: expect.stringContaining("larger than 3 bytes"),
  });
});

test("ends the call of a caller that cancels, and keeps the connection for the next call", async () => {
  const listener = await serve();
  const connection = dial(listener.address);
  await readsFrom(connection);
  const controller = new AbortController();
  const reading = connection.getServers({}, { signal: controller.signal });
  controller.abort();
  await expect(reading).rejects.toMatchObject({ code: "PEER_TIMEOUT" });
  expect(await readsFrom(connection)).toBe("api");
  expect(listener.stats().connectionsAccepted).toBe(1);
});

describe("secrets", () => {
  test.each([{ token: "t" }, { headers: { Authorization: "Basic eA==" } }, { headers: { cookie: "a=b" } }])(
    "refuses to send a secret unencrypted to another machine: %j",
    (options) => {
      expect(() => connectChannelz("192.0.2.1:80", options)).toThrow(
        expect.objectContaining({ code: "TOKEN_EXPOSED" }),
      );
      expect(() => connectChannelz("http://192.0.2.1:80", options)).toThrow(
        expect.objectContaining({ code: "TOKEN_EXPOSED" }),
      );
      expect(() => connectChannelz("192.0.2.1:80", { ...options, allowInsecureToken: true })).not.toThrow();
      expect(() => connectChannelz("192.0.2.1:80", { ...options, tls: true })).not.toThrow();
      expect(() => connectChannelz("https://192.0.2.1", options)).not.toThrow();
      expect(() => connectChannelz("127.0.0.1:80", options)).not.toThrow();
      expect(() => connectChannelz("unix:/x", options)).not.toThrow();
    },
  );

  test("refuses a malformed token without repeating it", () => {
    expect(() => connectChannelz(":1", { token: "two words" })).toThrow(
      expect.objectContaining({ code: "TOKEN_UNUSABLE", message: expect.not.stringContaining("two words") }),
    );
    expect(() => connectChannelz(":1", { token: "" })).toThrow(expect.objectContaining({ code: "TOKEN_UNUSABLE" }));
  });
});

test("reports unusable certificates and keys as misuse before it connects", () => {
  const { cert } = clientIdentity;
  expect(() => connectChannelz(":1", { tls: { cert: "no PEM", key: "no PEM" } })).toThrow(TypeError);
  expect(() => connectChannelz(":1", { tls: { cert, key: identity.key } })).toThrow(TypeError);
});

test("refuses TLS for a target with the scheme http", () => {
  expect(() => connectChannelz("http://127.0.0.1:80", { tls: true })).toThrow(
    expect.objectContaining({ code: "TARGET_INVALID" }),
  );
});

describe("close", () => {
  test("ends the reads in progress, refuses new ones and leaves no socket", async () => {
    const closedAtPeer: Promise<unknown>[] = [];
    const target = await rawPeer((socket) => {
      socket.resume();
      closedAtPeer.push(once(socket, "close"));
    });
    const connection = dial(target);
    const reading = readsFrom(connection);
    await expect.poll(() => closedAtPeer.length).toBe(1);
    const refused = expect(reading).rejects.toMatchObject({
      code: "PEER_UNAVAILABLE",
      message: expect.stringContaining("is closed"),
    });
    await connection.close();
    await refused;
    await Promise.all(closedAtPeer);
    await expect(readsFrom(connection)).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
    await connection.close();
  });

  test("closes a connection that is still being established", async () => {
    const target = await rawPeer(() => {});
    const connection = dial(target, { tls: true });
    const reading = expect(readsFrom(connection)).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
    await connection.close();
    await reading;
  });

  test("closes the connection at the end of an await using block", async () => {
    const listener = await serve();
    {
      await using connection = connectChannelz(listener.address);
      await readsFrom(connection);
      expect(listener.stats().connectionsOpen).toBe(1);
    }
    await expect.poll(() => listener.stats().connectionsOpen).toBe(0);
  });
});
