import { readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRegistry, type Registry } from "../registry/registry.js";
import type { ListenLimits } from "./limits.js";
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
const getTopChannels = "/rpc.channelz.v1.Channelz/GetTopChannels";
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

let registry: Registry;
const cleanups: (() => unknown)[] = [];
beforeEach(() => {
  registry = createRegistry();
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(limits: Partial<ListenLimits>, options: ListenOptions = {}): Promise<ChannelzListener> {
  const listener = await listenChannelz(registry, { ...options, limits });
  cleanups.push(() => listener.close({ deadlineMs: 0 }));
  return listener;
}

async function open(listener: ChannelzListener): Promise<Socket> {
  const socket = await openSocket(portOf(listener.address));
  cleanups.push(() => socket.destroy());
  return socket;
}

/** Whether a well-behaved client gets a response on a connection of its own. */
async function othersAreServed(listener: ChannelzListener): Promise<boolean> {
  const session = await openSession(listener.url);
  const { grpcStatus } = await rawGrpc(session, getServers);
  session.destroy();
  return grpcStatus === 0;
}

test.each([
  ["nothing at all", ""],
  ["half a preface", preface.slice(0, 9)],
  ["all of the preface but its last byte", preface.slice(0, -1)],
  ["the preface and nothing after it", preface],
  ["headers that do not end", "GET / HTTP/1.1\r\nHost: localhost\r\n"],
])("[CZ-D-LISTEN-1] closes and counts a connection whose peer sends %s", async (_, bytes) => {
  const listener = await start({ prefaceTimeoutMs: 300, headersTimeoutMs: 300 });
  const socket = await open(listener);
  socket.write(bytes);
  expect(await othersAreServed(listener)).toBe(true);
  await readToEnd(socket);
  expect(listener.stats().connectionsTimedOut).toBe(1);
  await eventually(() => listener.stats().connectionsOpen === 0);
});

test("[CZ-D-LISTEN-1] cuts off headers that arrive one byte at a time when their time limit is reached", async () => {
  const listener = await start({ headersTimeoutMs: 80 });
  const socket = await open(listener);
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
  const drip = setInterval(() => socket.write("x"), 5);
  expect(await readToEnd(socket)).toMatch(/^(HTTP\/1\.1 408 |$)/);
  clearInterval(drip);
  expect(listener.stats().connectionsTimedOut).toBe(1);
  expect(await othersAreServed(listener)).toBe(true);
});

describe("[CZ-D-LISTEN-1] over HTTP/2", () => {
  // POST, scheme http, path /, and an authority.
  const block = Buffer.from([0x83, 0x86, 0x84, 0x41, 1, 0x78]);
  const frame = (type: number, flags: number, id: number, payload: Buffer = Buffer.alloc(0)): Buffer =>
    Buffer.concat([Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, id]), payload]);
  const [headers, continuation, settings] = [1, 9, 4];
  const [endStream, endHeaders, ack] = [1, 4, 1];
  const opening = Buffer.concat([Buffer.from(preface), emptySettings, frame(settings, ack, 0)]);

  test.each([
    ["headers that never end", [frame(headers, endStream, 1, block)]],
    ["headers and a continuation that never end", [frame(headers, endStream, 1, block), frame(continuation, 0, 1)]],
    ["the beginning of headers", [frame(headers, endStream, 1, block).subarray(0, 11)]],
    [
      "headers that never end after a request that was served",
      [frame(headers, endStream | endHeaders, 1, block), frame(headers, endStream, 3, block)],
    ],
  ])("closes and counts a connection whose client sends %s", async (_, frames) => {
    const listener = await start({ headersTimeoutMs: 100 });
    const socket = await open(listener);
    socket.write(Buffer.concat([opening, ...frames]));
    await readToEnd(socket);
    expect(listener.stats()).toMatchObject({ connectionsTimedOut: 1, connectionsOpen: 0 });
    expect(await othersAreServed(listener)).toBe(true);
  });

  test("keeps the connection of a client whose stream was refused before any handler saw it", async () => {
    const listener = await start({ headersTimeoutMs: 300 });
    const session = await openSession(listener.url);
    cleanups.push(() => session.destroy());
    let pings = 0;
    session.on("ping", () => pings++);
    await rawGrpc(session, getServers, grpcFrame(), { "content-length": "no number" });
    await eventually(() => pings === 1);
    const startedAt = performance.now();
    await eventually(() => performance.now() - startedAt > 900 || session.closed);
    expect((await rawGrpc(session, getServers)).grpcStatus).toBe(0);
    expect(listener.stats()).toMatchObject({ requestsStarted: 1, connectionsTimedOut: 0 });
  });
});

test("[CZ-D-LISTEN-1] cuts off a connection whose TLS handshake never arrives", async () => {
  const read = (name: string): string =>
    readFileSync(new URL(`../../../../test/certificates/${name}.pem`, import.meta.url), "utf8");
  const listener = await start({ prefaceTimeoutMs: 50 }, { tls: { cert: read("server"), key: read("server-key") } });
  const socket = await open(listener);
  socket.write(Buffer.from([0x16, 3, 1]));
  await readToEnd(socket);
  await eventually(() => listener.stats().connectionsTimedOut === 1 && listener.stats().connectionsOpen === 0);
});

test("[CZ-D-LISTEN-1] serves a peer that sent its request in time, even if this process was busy for longer than the time limit", async () => {
  const listener = await start({ prefaceTimeoutMs: 50 });
  const socket = await open(listener);
  await eventually(() => listener.stats().connectionsOpen === 1);
  const response = readToEnd(socket);
  socket.write("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  // The whole event loop is blocked, so the bytes wait in the kernel.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  expect(await response).toMatch(/^HTTP\/1\.1 404 /);
  expect(listener.stats().connectionsTimedOut).toBe(0);
});

test("[CZ-D-LISTEN-1] ends a request whose body never arrives: 408 over HTTP/1.1, a reset over HTTP/2", async () => {
  const listener = await start({ headersTimeoutMs: 5000, requestTimeoutMs: 400 });
  const socket = await open(listener);
  socket.write(
    `POST ${getServers} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{`,
  );
  const session = await openSession(listener.url);
  cleanups.push(() => session.destroy());
  for (const headers of [{}, { "content-type": "application/grpc-web+proto" }]) {
    const stream = session.request({
      ":method": "POST",
      ":path": getServers,
      "content-type": "application/grpc",
      ...headers,
    });
    stream.on("error", () => {});
    stream.write(Buffer.from([0, 0]));
    await eventually(() => stream.closed);
    expect(stream.rstCode).toBe(8);
  }
  expect((await rawGrpc(session, getServers)).grpcStatus).toBe(0);
  expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 408 /);
  expect(listener.stats().requestsTimedOut).toBe(3);
});

test("keeps a health watcher and a reflection stream open beyond the time limit of a body", async () => {
  const listener = await start({ requestTimeoutMs: 30 });
  const session = await openSession(listener.url);
  cleanups.push(() => session.destroy());
  const watch = session.request({
    ":method": "POST",
    ":path": "/grpc.health.v1.Health/Watch",
    "content-type": "application/grpc",
  });
  watch.end(grpcFrame());
  const reflection = session.request({
    ":method": "POST",
    ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "content-type": "application/grpc",
  });
  reflection.write(grpcFrame([0x3a, 0]));
  const late = session.request({ ":method": "POST", ":path": getServers, "content-type": "application/grpc" });
  late.on("error", () => {});
  await eventually(() => late.closed);
  expect(watch.closed || reflection.closed).toBe(false);
});

test.each([
  ["none", 0],
  ["some", 3],
])(
  "[CZ-D-LISTEN-1] ends a client stream when its time limit is reached, however many messages it sends (%s)",
  async (_, count) => {
    // The time limit of other bodies does not apply, and would never be reached here.
    const listener = await start({ requestTimeoutMs: 600_000, idleTimeoutMs: 300 });
    const session = await openSession(listener.url);
    cleanups.push(() => session.destroy());
    const stream = session.request({
      ":method": "POST",
      ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      "content-type": "application/grpc",
    });
    stream.on("error", () => {});
    stream.resume();
    for (let sent = 0; sent < count; sent++) stream.write(grpcFrame([0x3a, 0]));
    await eventually(() => stream.closed);
    expect(stream.rstCode).toBe(8);
    expect(listener.stats()).toMatchObject({ requestsTimedOut: 1, requestsOpen: 0 });
  },
);

test.each([
  ["that is no HTTP", Buffer.from("\x00\x01\x02 hello\r\n\r\n")],
  ["of random kind", Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919) % 251))],
  ["after a good preface", Buffer.concat([Buffer.from(preface), Buffer.alloc(200, 0xee)])],
])("[CZ-D-LISTEN-2] closes and counts a connection that sends garbage %s, and affects no other", async (_, garbage) => {
  const listener = await start({});
  const session = await openSession(listener.url);
  cleanups.push(() => session.destroy());
  const socket = await open(listener);
  socket.write(garbage);
  await readToEnd(socket);
  await eventually(() => listener.stats().connectionsMalformed === 1 && listener.stats().connectionsOpen === 1);
  expect((await rawGrpc(session, getServers)).grpcStatus).toBe(0);
});

test("[CZ-D-LISTEN-2] sends GOAWAY for a broken header block, and closes the connection like an idle one if others need its place", async () => {
  const listener = await start({ idleTimeoutMs: 1000 });
  const socket = await open(listener);
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk));
  const brokenHeaders = Buffer.from([0, 0, 4, 1, 5, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]);
  socket.write(Buffer.concat([Buffer.from(preface), emptySettings, brokenHeaders]));
  expect(await othersAreServed(listener)).toBe(true);
  await eventually(() => socket.closed);
  const goaway = Buffer.from([7, 0, 0, 0, 0, 0]);
  expect(Buffer.concat(received).includes(goaway)).toBe(true);
});

test("[CZ-D-LISTEN-2] refuses oversized messages in every protocol, and keeps the HTTP/2 connection open", async () => {
  const listener = await start({ maxMessageBytes: 1000 });
  const { url } = listener;
  const session = await openSession(url);
  cleanups.push(() => session.destroy());
  const large = Buffer.alloc(50_000, 0x20);
  const frame = grpcFrame(large);

  expect((await rawGrpc(session, getServers, frame)).grpcStatus).toBe(Code.ResourceExhausted);
  const web = await rawGrpc(session, getServers, frame, {
    "content-type": "application/grpc-web+proto",
    "content-length": frame.length,
  });
  expect(web.grpcStatus).toBe(Code.ResourceExhausted);
  const announced = await fetch(`${url}${getServers}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: large,
  });
  expect(await announced.json()).toMatchObject({ code: "resource_exhausted" });
  const chunked = await fetch(`${url}${getServers}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: new Blob([large]).stream(),
    duplex: "half",
  } as RequestInit);
  expect(await chunked.json()).toMatchObject({ code: "resource_exhausted" });
  expect(listener.stats().requestsTooLarge).toBe(3);
  expect((await rawGrpc(session, getServers)).grpcStatus).toBe(0);
});

test("[CZ-D-LISTEN-2] refuses a message that decompresses to more than the limit", async () => {
  const listener = await start({ maxMessageBytes: 1000 });
  const { gzipSync } = await import("node:zlib");
  const frame = grpcFrame(gzipSync(Buffer.alloc(300_000)));
  frame[0] = 1;
  const session = await openSession(listener.url);
  cleanups.push(() => session.destroy());
  expect((await rawGrpc(session, getServers, frame, { "grpc-encoding": "gzip" })).grpcStatus).toBe(
    Code.ResourceExhausted,
  );
});

test("[CZ-D-LISTEN-2] refuses oversized headers over both versions", async () => {
  const listener = await start({ maxHeaderBytes: 4000 });
  const socket = await open(listener);
  socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(8000)}\r\n\r\n`);
  expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 431 /);
  const session = await openSession(listener.url);
  cleanups.push(() => session.destroy());
  const reply = await rawRequest(session, { ":method": "GET", ":path": "/", x: "x".repeat(8000) });
  expect(reply.headers[":status"]).not.toBe(200);
  expect(await othersAreServed(listener)).toBe(true);
});

test("[CZ-D-LISTEN-3] keeps hundreds of idle connections within the limit, and serves others meanwhile", async () => {
  const listener = await start({ maxConnections: 200 });
  const client = await openSession(listener.url);
  cleanups.push(() => client.destroy());
  let highest = 0;
  for (let round = 0; round < 4; round++) {
    const crowd = await Promise.all(Array.from({ length: 150 }, () => open(listener)));
    for (const socket of crowd.slice(0, 50)) socket.write(preface);
    expect((await rawGrpc(client, getServers)).grpcStatus).toBe(0);
    highest = Math.max(highest, listener.stats().connectionsOpen);
  }
  expect(await othersAreServed(listener)).toBe(true);
  const { connectionsAccepted, connectionsDisplaced, connectionsRefused } = listener.stats();
  expect(highest).toBeLessThanOrEqual(200);
  expect(connectionsAccepted).toBeGreaterThan(600);
  expect(connectionsDisplaced).toBeGreaterThan(350);
  expect(connectionsRefused).toBe(0);
});

test("[CZ-D-LISTEN-3] closes connections of a flood first, and keeps the connection of an earlier client", async () => {
  const listener = await start({ maxConnections: 20 });
  const client = await openSession(listener.url);
  cleanups.push(() => client.destroy());
  expect((await rawGrpc(client, getServers)).grpcStatus).toBe(0);
  let isFlooding = true;
  const { host, port } = portOf(listener.address);
  const flood = (async () => {
    while (isFlooding) {
      const sockets = Array.from({ length: 50 }, () => connect({ host, port }).on("error", () => {}));
      await new Promise((resolve) => setImmediate(resolve));
      for (const socket of sockets) socket.on("connect", () => socket.write("GET"));
      await eventually(() => sockets.every((socket) => !socket.connecting));
      for (const socket of sockets) socket.destroy();
    }
  })();
  await eventually(() => listener.stats().connectionsAccepted > 300);
  for (let call = 0; call < 5; call++) expect((await rawGrpc(client, getServers)).grpcStatus).toBe(0);
  isFlooding = false;
  await flood;
  expect(client.closed).toBe(false);
  expect(await othersAreServed(listener)).toBe(true);
});

test("[CZ-D-LISTEN-3] refuses a new connection while all others have an open request, and accepts it afterwards", async () => {
  const listener = await start({ maxConnections: 3 });
  const watchers = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const session = await openSession(listener.url);
      cleanups.push(() => session.destroy());
      const stream = session.request({
        ":method": "POST",
        ":path": "/grpc.health.v1.Health/Watch",
        "content-type": "application/grpc",
      });
      stream.on("error", () => {});
      stream.end(grpcFrame());
      return { session, stream };
    }),
  );
  await eventually(() => listener.stats().requestsOpen === 3);
  await readToEnd(await open(listener));
  expect(listener.stats()).toMatchObject({ connectionsRefused: 1, connectionsOpen: 3 });
  watchers[0]?.stream.close(8);
  await eventually(() => listener.stats().requestsOpen === 2);
  expect(await othersAreServed(listener)).toBe(true);
});

test("closes a connection without a request after the idle time, over both versions", async () => {
  const listener = await start({ idleTimeoutMs: 1000 });
  const session = await openSession(listener.url);
  expect((await rawGrpc(session, getServers)).grpcStatus).toBe(0);
  const socket = await open(listener);
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 404 /);
  await eventually(() => session.closed && listener.stats().connectionsOpen === 0);
  expect(listener.stats().connectionsTimedOut).toBeGreaterThanOrEqual(1);
});

test("drops the response of a caller that does not read it, over HTTP/2", async () => {
  const channel = registry.addChannel({ target: "dns:///a" });
  cleanups.push(() => channel.close());
  const listener = await start({ stallTimeoutMs: 40 });
  const session = connectHttp2(listener.url, { settings: { initialWindowSize: 0 } });
  cleanups.push(() => session.destroy());
  const stream = session.request({ ":method": "POST", ":path": getTopChannels, "content-type": "application/grpc" });
  stream.on("error", () => {});
  stream.end(grpcFrame());
  await eventually(() => stream.closed);
  expect(stream.rstCode).toBe(8);
  await eventually(() => listener.stats().requestsTimedOut === 1 && listener.stats().requestsOpen === 0);
  expect(await othersAreServed(listener)).toBe(true);
});

test("closes the connection of a caller that does not read its response, over HTTP/1.1", async () => {
  const held = Array.from({ length: 1000 }, (_, i) =>
    registry.addChannel({ target: `dns:///${i}${"x".repeat(10_000)}` }),
  );
  const listener = await start({ stallTimeoutMs: 40 });
  const socket = await open(listener);
  socket.pause();
  const request = `GET ${getTopChannels}?connect=v1&encoding=json&message=%7B%22maxResults%22%3A1000%7D HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  socket.write(request.repeat(3));
  await eventually(() => listener.stats().requestsTimedOut >= 1 && listener.stats().connectionsOpen === 0);
  expect(await othersAreServed(listener)).toBe(true);
  for (const channel of held) channel.close();
});

test("refuses streams above the limit of a connection, and responds to the others", async () => {
  const listener = await start({ maxConcurrentStreams: 5 });
  const socket = await open(listener);
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk));
  socket.write(Buffer.concat([Buffer.from(preface), emptySettings]));
  // Headers without the end of the stream: POST, scheme http, path /, and an authority.
  const block = Buffer.from([0x83, 0x86, 0x84, 0x41, 1, 0x78]);
  for (let id = 1; id < 41; id += 2) {
    const header = Buffer.from([0, 0, block.length, 1, 4, 0, 0, 0, id]);
    socket.write(Buffer.concat([header, block]));
  }
  await eventually(() => received.length > 0 && listener.stats().requestsStarted > 0);
  expect(await othersAreServed(listener)).toBe(true);
  expect(listener.stats().requestsOpen).toBeLessThanOrEqual(5);
});

test("serves others while streams are opened and reset in quick succession", async () => {
  const listener = await start({});
  const session = await openSession(listener.url);
  cleanups.push(() => session.destroy());
  for (let round = 0; round < 4 && !session.destroyed; round++) {
    for (let i = 0; i < 100 && !session.destroyed; i++) {
      const stream = session.request({ ":method": "POST", ":path": getServers, "content-type": "application/grpc" });
      stream.on("error", () => {});
      stream.close(8);
    }
    expect(await othersAreServed(listener)).toBe(true);
  }
  await eventually(() => listener.stats().requestsOpen === 0);
});
