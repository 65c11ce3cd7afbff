import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { connect, createServer, type Server, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { fromBinary } from "@bufbuild/protobuf";
import type { SocketOptionInit, SocketOptionTcpInfo } from "@wirescope/channelz";
import {
  SocketOptionLingerSchema,
  SocketOptionTcpInfoSchema,
  SocketOptionTimeoutSchema,
} from "@wirescope/channelz/client";
import { describe, expect, test } from "vitest";
import {
  closeAfterTest,
  connection,
  connectTo,
  listen,
  portOf,
  tlsConnection,
  unixPath,
} from "./connections.test.helper.js";
import { nativeSockets } from "./native.js";
import { listenSocketOptions, socketOptions } from "./options.js";
import { descriptorOf } from "./socket-internals.js";

const established = 1;
const closeWait = 8;
const listening = 10;

function optionOf(socket: Socket, name: string): SocketOptionInit | undefined {
  return socketOptions(socket)?.find((option) => option.name === name);
}

function shownValue(socket: Socket, name: string): string | undefined {
  return optionOf(socket, name)?.value;
}

function payloadOf(option: SocketOptionInit | undefined, type: string): Uint8Array {
  expect(option?.additional?.type).toBe(type);
  return option?.additional?.value ?? new Uint8Array();
}

function tcpInfoOf(options: readonly SocketOptionInit[] | undefined): SocketOptionTcpInfo {
  const option = options?.find(({ name }) => name === "TCP_INFO");
  return fromBinary(SocketOptionTcpInfoSchema, payloadOf(option, "SocketOptionTcpInfo"));
}

/** `ss` of iproute2, which does not use getsockopt. */
const socketStatistics = "ss";
const hasSocketStatistics = spawnSync(socketStatistics, ["-V"]).error === undefined;

/** Sets options that Node has no API for. */
function setOption(socket: Socket, level: number, option: number, value: Buffer): void {
  const koffi = createRequire(import.meta.url)("koffi") as typeof import("koffi");
  const setsockopt = koffi.load(null).func("int setsockopt(int, int, int, void *, int)");
  expect(setsockopt(descriptorOf(socket), level, option, value, value.length)).toBe(0);
}

/** Opens connections until one of their ends reuses a file descriptor. */
async function reuse(server: Server, descriptor: number | undefined): Promise<Socket> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const { client, accepted } = await connectTo(server, { host: "127.0.0.1", port: portOf(server) });
    const next = [client, accepted].find((socket) => descriptorOf(socket) === descriptor);
    if (next !== undefined) return next;
  }
  throw new Error(`The descriptor ${descriptor} was never used again.`);
}

describe.runIf(nativeSockets() !== undefined)("on Linux", () => {
  test("[CZ-OPT-1] shows eight options of a TCP connection by their full names", async () => {
    const { client, accepted } = await connection();
    const names = [
      "SO_LINGER",
      "SO_RCVTIMEO",
      "SO_SNDTIMEO",
      "SO_KEEPALIVE",
      "SO_RCVBUF",
      "SO_SNDBUF",
      "TCP_NODELAY",
      "TCP_INFO",
    ];
    expect(socketOptions(client)?.map(({ name }) => name)).toEqual(names);
    expect(socketOptions(accepted)?.map(({ name }) => name)).toEqual(names);
  });

  test("shows switches with their current values", async () => {
    const { client } = await connection();
    const switches = (): unknown[] => [shownValue(client, "TCP_NODELAY"), shownValue(client, "SO_KEEPALIVE")];
    expect(switches()).toEqual(["0", "0"]);
    client.setNoDelay(true);
    expect(switches()).toEqual(["1", "0"]);
    client.setKeepAlive(true, 1000);
    expect(switches()).toEqual(["1", "1"]);
    client.setNoDelay(false);
    client.setKeepAlive(false);
    expect(switches()).toEqual(["0", "0"]);
  });

  test("does not show the options of one socket for another", async () => {
    const { server, client, accepted } = await connection();
    const other = await connectTo(server, { host: "127.0.0.1", port: portOf(server) });
    client.setNoDelay(true);
    expect([client, accepted, other.client].map((one) => shownValue(one, "TCP_NODELAY"))).toEqual(["1", "0", "0"]);
  });

  test("shows buffer sizes in bytes", async () => {
    const { client } = await connection();
    expect(Number(shownValue(client, "SO_RCVBUF"))).toBeGreaterThan(1024);
    expect(Number(shownValue(client, "SO_SNDBUF"))).toBeGreaterThan(1024);
  });

  test("[CZ-OPT-4] shows the size of each buffer as getsockopt() returns it: twice what was set, and not that of the other one", async () => {
    const { client } = await connection();
    for (const [receive, send] of [
      [20_000, 30_000],
      [50_000, 40_000],
    ] as const) {
      for (const [option, size] of [
        [8, receive],
        [7, send],
      ] as const) {
        const value = Buffer.alloc(4);
        value.writeInt32LE(size);
        setOption(client, 1, option, value);
      }
      const shown = ["SO_RCVBUF", "SO_SNDBUF"].map((name) => Number(shownValue(client, name)));
      // The kernel doubles a size, for its own bookkeeping: socket(7).
      expect(shown).toEqual([2 * receive, 2 * send]);
    }
  });

  test("[CZ-OPT-3] shows linger and timeouts, which Node never sets, as off and none, with their payloads", async () => {
    const { client } = await connection();
    const linger = fromBinary(SocketOptionLingerSchema, payloadOf(optionOf(client, "SO_LINGER"), "SocketOptionLinger"));
    expect(linger).toMatchObject({ active: false, duration: { seconds: 0n, nanos: 0 } });
    for (const name of ["SO_RCVTIMEO", "SO_SNDTIMEO"]) {
      const payload = payloadOf(optionOf(client, name), "SocketOptionTimeout");
      expect(fromBinary(SocketOptionTimeoutSchema, payload).duration).toMatchObject({ seconds: 0n, nanos: 0 });
    }
  });

  test("[CZ-OPT-3] shows linger and timeouts that were set with their durations", async () => {
    const { client } = await connection();
    const linger = Buffer.alloc(8);
    linger.writeInt32LE(1, 0);
    linger.writeInt32LE(5, 4);
    setOption(client, 1, 13, linger);
    const timeout = Buffer.alloc(16);
    timeout.writeBigInt64LE(1n, 0);
    timeout.writeBigInt64LE(500_000n, 8);
    setOption(client, 1, 20, timeout);

    expect(shownValue(client, "SO_LINGER")).toBe("5000 ms");
    const lingerPayload = payloadOf(optionOf(client, "SO_LINGER"), "SocketOptionLinger");
    expect(fromBinary(SocketOptionLingerSchema, lingerPayload)).toMatchObject({
      active: true,
      duration: { seconds: 5n, nanos: 0 },
    });
    expect(shownValue(client, "SO_RCVTIMEO")).toBe("1500 ms");
    const timeoutPayload = payloadOf(optionOf(client, "SO_RCVTIMEO"), "SocketOptionTimeout");
    expect(fromBinary(SocketOptionTimeoutSchema, timeoutPayload).duration).toMatchObject({
      seconds: 1n,
      nanos: 500_000_000,
    });
    expect(shownValue(client, "SO_SNDTIMEO")).toBe("0 ms");
  });

  test("follows the state of the connection in TCP_INFO", async () => {
    const { client, accepted } = await connection({ host: "127.0.0.1", port: 0 }, { allowHalfOpen: true });
    expect(tcpInfoOf(socketOptions(client)).tcpiState).toBe(established);
    accepted.end();
    client.resume();
    await once(client, "end");
    expect(tcpInfoOf(socketOptions(client)).tcpiState).toBe(closeWait);
  });

  test.runIf(hasSocketStatistics)("agrees with ss on TCP_INFO of the same connection, if ss is installed", async () => {
    const { client, accepted } = await connection();
    client.write("ping");
    await once(accepted, "data");
    accepted.write("pong");
    await once(client, "data");
    const filter = `sport = :${client.localPort} and dport = :${client.remotePort}`;
    const words = execFileSync(socketStatistics, ["-timnH", filter], { encoding: "utf8" });
    const ofSs = (pattern: RegExp): number[] => (pattern.exec(words) ?? []).slice(1).map(Number);
    const info = tcpInfoOf(socketOptions(client));
    const buffers = ["SO_RCVBUF", "SO_SNDBUF"].map((name) => Number(shownValue(client, name)));

    expect(words).toContain("ESTAB");
    expect(buffers).toEqual(ofSs(/\bskmem:\(r\d+,rb(\d+),t\d+,tb(\d+)/));
    expect([info.tcpiSndWscale, info.tcpiRcvWscale]).toEqual(ofSs(/\bwscale:(\d+),(\d+)/));
    expect([info.tcpiSndMss]).toEqual(ofSs(/\bmss:(\d+)/));
    expect([info.tcpiRcvMss]).toEqual(ofSs(/\brcvmss:(\d+)/));
    expect([info.tcpiAdvmss]).toEqual(ofSs(/\badvmss:(\d+)/));
    expect([info.tcpiPmtu]).toEqual(ofSs(/\bpmtu:(\d+)/));
    expect([info.tcpiSndCwnd]).toEqual(ofSs(/\bcwnd:(\d+)/));
    expect([info.tcpiRcvSsthresh]).toEqual(ofSs(/\brcv_ssthresh:(\d+)/));
    // ss prints milliseconds, the kernel has microseconds, and the value may have changed in between.
    expect(Math.abs(info.tcpiRto / 1000 - (ofSs(/\brto:([\d.]+)/)[0] ?? 0))).toBeLessThan(20);
    const [rtt = 0, rttVariance = 0] = ofSs(/\brtt:([\d.]+)\/([\d.]+)/);
    expect(Math.abs(info.tcpiRtt / 1000 - rtt)).toBeLessThan(5);
    expect(Math.abs(info.tcpiRttvar / 1000 - rttVariance)).toBeLessThan(5);
    const [sinceSent = 0] = ofSs(/\blastsnd:(\d+)/);
    expect(info.tcpiLastDataSent).toBeGreaterThanOrEqual(sinceSent);
    expect(info.tcpiLastDataSent).toBeLessThan(sinceSent + 10_000);
  });

  test("shows socket options for a Unix connection, and none of TCP", async () => {
    const { client, accepted } = await connection({ path: unixPath() });
    for (const socket of [client, accepted]) {
      const names = socketOptions(socket)?.map(({ name }) => name);
      expect(names).toEqual(["SO_LINGER", "SO_RCVTIMEO", "SO_SNDTIMEO", "SO_KEEPALIVE", "SO_RCVBUF", "SO_SNDBUF"]);
    }
  });

  test("shows the options of the TCP connection below TLS", async () => {
    const { client } = await tlsConnection();
    client.setNoDelay(true);
    expect(shownValue(client, "TCP_NODELAY")).toBe("1");
    expect(tcpInfoOf(socketOptions(client)).tcpiState).toBe(established);
  });

  test("shows no options for a socket that is not connected yet or was destroyed", async () => {
    const server = await listen(createServer(), { host: "127.0.0.1", port: 0 });
    const socket = connect({ host: "localhost", port: portOf(server), family: 4 });
    closeAfterTest(socket);
    expect([descriptorOf(socket), socketOptions(socket)]).toEqual([undefined, undefined]);
    await once(socket, "connect");
    expect(tcpInfoOf(socketOptions(socket)).tcpiState).toBe(established);
    socket.destroy();
    expect([descriptorOf(socket), socketOptions(socket)]).toEqual([undefined, undefined]);
  });

  test("does not read a descriptor that another socket got meanwhile", async () => {
    const { server, client } = await connection();
    const descriptor = descriptorOf(client);
    client.destroy();
    await once(client, "close");
    const next = await reuse(server, descriptor);
    expect(socketOptions(next)).toBeDefined();
    expect(socketOptions(client)).toBeUndefined();
  });

  test("finds no descriptor for TLS over a destroyed connection, whichever socket has the number now", async () => {
    const { server } = await tlsConnection();
    const beneath = connect({ host: "127.0.0.1", port: portOf(server) });
    closeAfterTest(beneath);
    const above = connectTls({ socket: beneath, rejectUnauthorized: false });
    closeAfterTest(above);
    await once(above, "secureConnect");
    const descriptor = descriptorOf(above);
    expect(descriptor).toBe(descriptorOf(beneath));
    // Node crashes if both are destroyed in one turn, so the TLS socket closes by itself.
    const closing = once(above, "close");
    beneath.destroy();
    expect(above.destroyed).toBe(false);
    expect(descriptorOf(above)).toBeUndefined();
    expect(socketOptions(above)).toBeUndefined();
    await closing;
    const next = await reuse(server, descriptor);
    expect(socketOptions(next)).toBeDefined();
    expect(socketOptions(above)).toBeUndefined();
  });

  test("shows the options of the listen socket of a server, with its queue, while it listens", async () => {
    const server = createServer();
    expect(listenSocketOptions(server)).toBeUndefined();
    await listen(server, { host: "127.0.0.1", port: 0, backlog: 17 });
    const options = listenSocketOptions(server);
    expect(options?.map(({ name }) => name)).toEqual([
      "SO_REUSEADDR",
      "SO_REUSEPORT",
      "SO_RCVBUF",
      "SO_SNDBUF",
      "TCP_INFO",
    ]);
    expect(options?.[0]?.value).toBe("1");
    expect(tcpInfoOf(options)).toMatchObject({ tcpiState: listening, tcpiUnacked: 0, tcpiSacked: 17 });
    server.close();
    expect(listenSocketOptions(server)).toBeUndefined();
  });

  test("shows no TCP options for a server on a Unix socket", async () => {
    const server = await listen(createServer(), { path: unixPath() });
    expect(listenSocketOptions(server)?.map(({ name }) => name)).not.toContain("TCP_INFO");
  });
});
