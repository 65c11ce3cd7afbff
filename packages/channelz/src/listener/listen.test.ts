import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { get as getSecure } from "node:https";
import { connect, createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, test } from "vitest";
import { channelzPackages } from "../channelz-package.js";
import { freePort } from "../free-port.test.helper.js";
import {
  Health as HealthService,
  HealthCheckResponse_ServingStatus as Status,
} from "../gen/grpc/health/v1/health_pb.js";
import { redactSource } from "../redact.js";
import { createRegistry } from "../registry/registry.js";
import { channelzService } from "../schema.js";
import type { Source } from "../source.js";
import { readsOf } from "../source.test.helper.js";
import { type ChannelzListener, type ListenOptions, listenChannelz } from "./listen.js";
import {
  eventually,
  grpcFrame,
  openSession,
  openSocket,
  portOf,
  rawGrpc,
  rawRequest,
  readToEnd,
} from "./raw-caller.test.helper.js";

const getServers = "/rpc.channelz.v1.Channelz/GetServers";
const certificate = (name: string): string =>
  readFileSync(new URL(`../../../../test/certificates/${name}.pem`, import.meta.url), "utf8");

/** The registry removes what the application drops, so the tests hold on to it. */
const held: unknown[] = [];
const listeners: ChannelzListener[] = [];
const start = async (options: ListenOptions = {}, source: Source = createRegistry()): Promise<ChannelzListener> => {
  const listener = await listenChannelz(source, options);
  listeners.push(listener);
  return listener;
};
afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close({ deadlineMs: 0 })));
});

test("[CZ-D-RATE-1] does not limit how often a caller reads", async () => {
  const { url } = await start();
  const client = createClient(channelzService("rpc.channelz.v1"), createGrpcTransport({ baseUrl: url }));
  for (let round = 0; round < 4; round += 1) {
    const responses = await Promise.all(Array.from({ length: 50 }, () => client.getServers({})));
    expect(responses.every(({ end }) => end)).toBe(true);
  }
});

describe("protocols on one port", () => {
  test.each(channelzPackages)(
    "[CZ-D-PATH-1] [CZ-D-PATH-2] [CZ-D-PATH-3] responds in gRPC, gRPC-Web and Connect under %s",
    async (channelzPackage) => {
      const registry = createRegistry();
      const server = registry.addServer({ name: "api" });
      const { url } = await start({}, registry);
      const transports = [
        createGrpcTransport({ baseUrl: url }),
        createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1" }),
        createGrpcWebTransport({ baseUrl: url, httpVersion: "2" }),
        createConnectTransport({ baseUrl: url, httpVersion: "1.1" }),
        createConnectTransport({ baseUrl: url, httpVersion: "1.1", useHttpGet: true }),
        createConnectTransport({ baseUrl: url, httpVersion: "2", useHttpGet: true, useBinaryFormat: true }),
      ];
      for (const transport of transports) {
        const client = createClient(channelzService(channelzPackage), transport);
        expect((await client.getServer({ serverId: BigInt(server.id) })).server?.ref?.name).toBe("api");
        await expect(client.getServer({ serverId: 99n })).rejects.toMatchObject({ code: Code.NotFound });
      }
    },
  );

  test.each(channelzPackages)(
    "[CZ-PAGE-1] [CZ-LIMIT-1] [CZ-OP-9] applies start id, max_results and summary in every protocol under %s",
    async (channelzPackage) => {
      const registry = createRegistry();
      const channels = [1, 2, 3].map(() => registry.addChannel());
      const servers = [1, 2, 3].map(() => registry.addServer());
      const sockets = [1, 2, 3].map(() => registry.addSocket({ server: servers[0]! }));
      const described = registry.addSocket({
        subject: registry,
        describe: () => ({ options: [{ name: "TCP_NODELAY", value: "1" }] }),
      });
      held.push(channels, servers, sockets, described);
      const [startChannelId = 0n, startServerId = 0n, startSocketId = 0n] = [channels, servers, sockets].map((all) =>
        BigInt(all[1]!.id),
      );
      const serverId = BigInt(servers[0]!.id);
      const maxResults = 1n;
      // A redacted source cannot encode its responses, which is another path through the service.
      for (const source of [registry, redactSource(registry)]) {
        const { url } = await start({}, source);
        for (const transport of [
          createGrpcTransport({ baseUrl: url }),
          createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1" }),
          createConnectTransport({ baseUrl: url, httpVersion: "1.1", useHttpGet: true }),
        ]) {
          const client = createClient(channelzService(channelzPackage), transport);
          const top = await client.getTopChannels({ startChannelId, maxResults });
          expect([top.channel.map(({ ref }) => ref?.channelId), top.end]).toEqual([[startChannelId], false]);
          const all = await client.getServers({ startServerId, maxResults });
          expect([all.server.map(({ ref }) => ref?.serverId), all.end]).toEqual([[startServerId], false]);
          const accepted = await client.getServerSockets({ serverId, startSocketId, maxResults });
          expect([accepted.socketRef.map(({ socketId }) => socketId), accepted.end]).toEqual([[startSocketId], false]);
          for (const summary of [true, false]) {
            const { socket } = await client.getSocket({ socketId: BigInt(described.id), summary });
            expect(socket?.data?.option.length).toBe(summary ? 0 : 1);
          }
        }
      }
    },
  );

  test("[CZ-D-PATH-4] distinguishes HTTP/1.1 and HTTP/2 without TLS, even if the request arrives byte by byte", async () => {
    const { address, url } = await start();
    const socket = await openSocket(portOf(address));
    socket.setNoDelay(true);
    const request = `GET ${getServers}?connect=v1&encoding=json&message={} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    for (const byte of request) socket.write(byte);
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 200 /);
    // This one begins like the preface of HTTP/2.
    const propfind = await openSocket(portOf(address));
    propfind.write("PR");
    propfind.write("OPFIND / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    expect(await readToEnd(propfind)).toMatch(/^HTTP\/1\.1 404 /);
    const session = await openSession(url);
    expect((await rawGrpc(session, getServers)).grpcStatus).toBe(0);
    session.destroy();
  });

  test("passes a compressed request to the router and responds", async () => {
    const { url } = await start();
    const { gzipSync } = await import("node:zlib");
    const frame = grpcFrame(gzipSync(Buffer.from([0x10, 5])));
    frame[0] = 1;
    const session = await openSession(url);
    expect((await rawGrpc(session, getServers, frame, { "grpc-encoding": "gzip" })).grpcStatus).toBe(0);
    session.destroy();
  });

  test("responds to an unknown path in the protocol of the caller, or passes it to the fallback", async () => {
    const plain = await start();
    const session = await openSession(plain.url);
    expect((await rawGrpc(session, "/a.B/C")).grpcStatus).toBe(Code.Unimplemented);
    expect((await rawGrpc(session, "/rpc.channelz.v1.Channelz/Nope")).grpcStatus).toBe(Code.Unimplemented);
    expect((await fetch(`${plain.url}/`)).status).toBe(404);
    session.destroy();
    const withPage = await start({ fallback: (_, response) => void response.end("the page") });
    expect(await (await fetch(withPage.url)).text()).toBe("the page");
  });

  test("[CZ-D-TOOLS-2] reports the health of the server and of both packages", async () => {
    const { url } = await start();
    const client = createClient(HealthService, createGrpcTransport({ baseUrl: url }));
    for (const service of ["", "rpc.channelz.v1.Channelz", "grpc.channelz.v1.Channelz"]) {
      expect((await client.check({ service })).status).toBe(Status.SERVING);
    }
  });

  test("ends the request, not the process, if the authority is not a host name", async () => {
    const { url } = await start();
    const session = await openSession(url);
    const reply = await rawRequest(
      session,
      { ":method": "POST", ":path": getServers, ":authority": "%%%", "content-type": "application/json" },
      Buffer.from("{}"),
    );
    expect(reply.headers[":status"]).toBe(400);
    expect((await rawGrpc(session, getServers)).grpcStatus).toBe(0);
    session.destroy();
  });
});

describe("addresses", () => {
  test("[CZ-D-ACCESS-1] binds to the loopback interface by default", async () => {
    const { address, url } = await start();
    expect(address).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(url).toBe(`http://${address}`);
    expect((await start({ host: "localhost" })).address).toMatch(/^(127\.0\.0\.1|\[::1\]):\d+$/);
  });

  test.each(["0.0.0.0", "::", "", "::ffff:0.0.0.0"])(
    "[CZ-D-ACCESS-2] refuses %j if callers are not authenticated",
    async (host) => {
      await expect(listenChannelz(createRegistry(), { host })).rejects.toMatchObject({ code: "LISTEN_EXPOSED" });
    },
  );

  test("[CZ-D-ACCESS-2] does not accept TLS without client certificates as authentication", async () => {
    const tls = { cert: certificate("server"), key: certificate("server-key") };
    await expect(listenChannelz(createRegistry(), { host: "0.0.0.0", tls })).rejects.toMatchObject({
      code: "LISTEN_EXPOSED",
    });
  });

  test("[CZ-D-ACCESS-2] binds to any address with a token or mutual TLS", async () => {
    const { address } = await start({ host: "0.0.0.0", token: "s3cret" });
    const session = await openSession(`http://127.0.0.1:${portOf(address).port}`);
    expect((await rawGrpc(session, getServers)).grpcStatus).toBe(Code.Unauthenticated);
    session.destroy();
    await start({
      host: "0.0.0.0",
      tls: { cert: certificate("server"), key: certificate("server-key"), ca: certificate("ca") },
    });
  });

  test("fails with LISTEN_FAILED and advice if the address is in use or not of this machine", async () => {
    const { address } = await start();
    await expect(listenChannelz(createRegistry(), portOf(address))).rejects.toMatchObject({
      code: "LISTEN_FAILED",
      message: expect.stringMatching(/The port is in use: .* choose another port\.$/),
    });
    await expect(listenChannelz(createRegistry(), { host: "192.0.2.1", token: "t" })).rejects.toMatchObject({
      code: "LISTEN_FAILED",
    });
    await expect(listenChannelz(createRegistry(), { host: "no-such-name.invalid" })).rejects.toMatchObject({
      code: "LISTEN_FAILED",
    });
  });

  test.each([
    { port: 70_000 },
    { path: "/x", port: 1 },
    { path: "" },
    { limits: { maxConnections: 0 } },
    { limits: { nope: 1 } as never },
  ])("rejects invalid options with a TypeError: %j", async (options) => {
    await expect(listenChannelz(createRegistry(), options)).rejects.toThrow(TypeError);
  });

  test.runIf(
    Object.values(networkInterfaces())
      .flat()
      .some((one) => one?.address === "::1"),
  )("writes an IPv6 loopback address in brackets", async () => {
    const { url, address } = await start({ host: "::1" });
    expect(address).toMatch(/^\[::1\]:\d+$/);
    expect((await fetch(`${url}/`)).status).toBe(404);
  });

  test.runIf(
    Object.values(networkInterfaces())
      .flat()
      .some((one) => one?.address === "::1"),
  )("serves HTTP/2 clients of Node at an IPv6 address, although they send it without brackets", async () => {
    const { url } = await start({ host: "::1" });
    const service = channelzService("rpc.channelz.v1");
    for (const transport of [
      createConnectTransport({ baseUrl: url, httpVersion: "2" }),
      createGrpcTransport({ baseUrl: url }),
    ]) {
      expect((await createClient(service, transport).getServers({})).end).toBe(true);
    }
  });
});

describe("Unix sockets", () => {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
  const path = join(folder, "channelz.sock");

  test("[CZ-D-PATH-5] serves both versions of HTTP on a socket file that only its owner can use, and removes the file at close", async () => {
    const listener = await start({ path });
    expect(listener.address).toBe(`unix:${path}`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const session = connectHttp2("http://localhost", { createConnection: () => connect(path) });
    expect((await rawGrpc(session, getServers)).grpcStatus).toBe(0);
    session.destroy();
    const [response] = await once(
      get({
        socketPath: path,
        path: `${getServers}?connect=v1&encoding=json&message={}`,
        headers: { host: "localhost" },
      }),
      "response",
    );
    expect(response.statusCode).toBe(200);
    response.resume();
    await listener.close();
    expect(existsSync(path)).toBe(false);
  });

  test("replaces the socket file of a process that has ended", async () => {
    const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
    await once(spawn(process.execPath, ["-e", script]), "exit");
    expect(existsSync(path)).toBe(true);
    await start({ path });
  });

  test("leaves the socket file of a running process alone", async () => {
    await start({ path });
    await expect(listenChannelz(createRegistry(), { path })).rejects.toMatchObject({
      code: "LISTEN_FAILED",
      message: expect.stringContaining("Another process"),
    });
    expect(existsSync(path)).toBe(true);
  });

  test("leaves a file that is not a socket alone", async () => {
    const file = join(folder, "notes.txt");
    writeFileSync(file, "mine");
    await expect(listenChannelz(createRegistry(), { path: file })).rejects.toMatchObject({ code: "LISTEN_FAILED" });
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  test.runIf(process.platform === "linux")(
    "requires a token for an abstract socket, because every user can connect to it",
    async () => {
      await expect(listenChannelz(createRegistry(), { path: "\0wirescope-test" })).rejects.toMatchObject({
        code: "LISTEN_EXPOSED",
      });
    },
  );

  test("refuses TLS on a Unix socket", async () => {
    const tls = { cert: certificate("server"), key: certificate("server-key") };
    await expect(listenChannelz(createRegistry(), { path: join(folder, "tls.sock"), tls })).rejects.toThrow(TypeError);
    rmSync(folder, { recursive: true, force: true });
  });
});

describe("TLS", () => {
  const tls = { cert: certificate("server"), key: certificate("server-key") };
  const ca = certificate("ca");

  test("[CZ-D-PATH-4] serves HTTP/2 and HTTP/1.1 on one port as negotiated", async () => {
    const { url } = await start({ tls });
    expect(url).toMatch(/^https:/);
    const client = createClient(
      channelzService("grpc.channelz.v1"),
      createGrpcTransport({ baseUrl: url, nodeOptions: { ca } }),
    );
    expect((await client.getServers({})).end).toBe(true);
    const [response] = await once(
      getSecure(`${url}${getServers}?connect=v1&encoding=json&message={}`, { ca }),
      "response",
    );
    expect(response.statusCode).toBe(200);
    response.resume();
    // A page of the listener itself is at https.
    const [own] = await once(getSecure(`${url}/`, { ca, headers: { origin: url } }), "response");
    expect(own.statusCode).toBe(404);
    own.resume();
  });

  test("[CZ-D-ACCESS-6] accepts only clients with a certificate of the CA in mutual TLS", async () => {
    const { url, address, stats } = await start({ tls: { ...tls, ca } });
    const call = (nodeOptions: object) =>
      createClient(
        channelzService("rpc.channelz.v1"),
        createGrpcTransport({ baseUrl: url, nodeOptions: { ca, ...nodeOptions } }),
      ).getServers({});
    expect((await call({ cert: certificate("client"), key: certificate("client-key") })).end).toBe(true);
    await expect(call({})).rejects.toThrow();
    await expect(call({ cert: certificate("other-client"), key: certificate("other-client-key") })).rejects.toThrow();
    const socket = connectTls({ ...portOf(address), ca, servername: "localhost" });
    socket.on("error", () => {});
    await eventually(() => socket.closed);
    await eventually(() => stats().connectionsOpen <= 1);
  });

  test("fails with LISTEN_FAILED if the certificate is malformed", async () => {
    await expect(listenChannelz(createRegistry(), { tls: { cert: "x", key: "y" } })).rejects.toMatchObject({
      code: "LISTEN_FAILED",
    });
  });

  test("closes a connection that does not speak TLS, and serves others", async () => {
    const { address, url, stats } = await start({ tls });
    const socket = await openSocket(portOf(address));
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await readToEnd(socket);
    await eventually(() => stats().connectionsMalformed === 1 && stats().connectionsOpen === 0);
    const client = createClient(
      channelzService("rpc.channelz.v1"),
      createGrpcTransport({ baseUrl: url, nodeOptions: { ca } }),
    );
    expect((await client.getServers({})).end).toBe(true);
  });
});

describe("close", () => {
  /** A source whose GetServers responds on command. */
  function slowSource(): { source: Source; asked: () => boolean; reply: () => void } {
    const registry = createRegistry();
    let release: (() => void) | undefined;
    const source: Source = {
      ...readsOf(registry),
      getServers: async () => {
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        return registry.getServers();
      },
    };
    return { source, asked: () => release !== undefined, reply: () => release?.() };
  }

  test("[CZ-D-LISTEN-4] finishes a gRPC call in progress, refuses new ones, and notifies health watchers", async () => {
    const slow = slowSource();
    const listener = await start({}, slow.source);
    const session = await openSession(listener.url);
    const goaway = once(session, "goaway");
    const call = rawGrpc(session, getServers);
    const watched: number[] = [];
    const watching = (async () => {
      const client = createClient(HealthService, createGrpcTransport({ baseUrl: listener.url }));
      for await (const { status } of client.watch({})) watched.push(status);
    })();
    await eventually(() => slow.asked() && watched.length === 1);
    const closed = listener.close({ deadlineMs: 30_000 });
    await goaway;
    await watching;
    expect(watched).toEqual([Status.SERVING, Status.NOT_SERVING]);
    const late = await openSocket(portOf(listener.address)).then(
      () => "connected",
      (error: { code: string }) => error.code,
    );
    expect(late).toBe("ECONNREFUSED");
    slow.reply();
    expect((await call).grpcStatus).toBe(0);
    await closed;
    expect(listener.stats()).toMatchObject({ connectionsOpen: 0, requestsOpen: 0 });
  });

  test("[CZ-D-LISTEN-4] finishes an HTTP/1.1 request in progress, and then closes its connection", async () => {
    const slow = slowSource();
    const listener = await start({}, slow.source);
    const idle = await openSocket(portOf(listener.address));
    const socket = await openSocket(portOf(listener.address));
    socket.write(`GET ${getServers}?connect=v1&encoding=json&message={} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await eventually(slow.asked);
    const closed = listener.close({ deadlineMs: 30_000 });
    await readToEnd(idle);
    slow.reply();
    const reply = await readToEnd(socket);
    expect(reply).toMatch(/^HTTP\/1\.1 200 /);
    expect(reply).toContain('"end":true');
    await closed;
  });

  test("[CZ-D-LISTEN-4] cuts off what is left at the deadline, and may be called twice", async () => {
    const slow = slowSource();
    const listener = await start({}, slow.source);
    const session = await openSession(listener.url);
    const call = rawGrpc(session, getServers);
    await eventually(slow.asked);
    await Promise.all([listener.close({ deadlineMs: 10 }), listener.close()]);
    expect((await call).grpcStatus).toBeUndefined();
    expect(listener.stats()).toMatchObject({ connectionsOpen: 0 });
    slow.reply();
  });

  test("closes although a caller keeps a reflection stream open", async () => {
    const listener = await start();
    const session = await openSession(listener.url);
    const stream = session.request({
      ":method": "POST",
      ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      "content-type": "application/grpc",
    });
    stream.on("error", () => {});
    stream.resume();
    stream.write(grpcFrame([0x3a, 0]));
    await once(stream, "response");
    const trailers = once(stream, "trailers");
    await listener.close({ deadlineMs: 600_000 });
    expect((await trailers)[0]).toMatchObject({ "grpc-status": "0" });
    session.destroy();
  });

  test("releases the port at once", async () => {
    const port = await freePort();
    const listener = await start({ port });
    await (await openSession(listener.url)).destroy();
    await listener.close();
    const again = createServer().listen(port, "127.0.0.1");
    await once(again, "listening");
    again.close();
  });
});
