import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import type { Readable } from "node:stream";
import { connect as connectTls } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { createRegistry } from "../registry/registry.js";
import { createCertificate } from "./certificate.test.helper.js";
import type { NodeResponse } from "./connect-handler.js";
import type { ListenLimits } from "./limits.js";
import { type ChannelzListener, type ListenOptions, listenChannelz } from "./listen.js";
import { eventually, grpcFrame, openSession, openSocket, portOf } from "./raw-caller.test.helper.js";

const getTopChannels = "/rpc.channelz.v1.Channelz/GetTopChannels";
const large = Buffer.from(Array.from({ length: 1009 }, (_, i) => i % 251))
  .toString("latin1")
  .repeat(4200);
const registry = createRegistry();
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Starts a listener that responds in the way that the path names. */
async function start(
  limits: Partial<ListenLimits>,
  responses: Readonly<Record<string, (response: NodeResponse) => void>>,
  options: ListenOptions = {},
): Promise<ChannelzListener> {
  const listener = await listenChannelz(registry, {
    ...options,
    limits,
    fallback: ({ url = "" }, response) => responses[url]?.(response),
  });
  cleanups.push(() => listener.close({ deadlineMs: 0 }));
  return listener;
}

/** Opens a session with a large window, so that other streams are not blocked by one that is not read. */
async function openRoomy({ url }: ChannelzListener): Promise<ClientHttp2Session> {
  const session = await openSession(url);
  cleanups.push(() => session.destroy());
  session.setLocalWindowSize(1024 * 1024);
  return session;
}

function request(session: ClientHttp2Session, path: string, contentType = "text/plain"): ClientHttp2Stream {
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": contentType });
  stream.on("error", () => {});
  stream.pause();
  stream.end(grpcFrame());
  return stream;
}

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Reads to the end, and for a while no faster than that. */
async function readSlowly(stream: Readable, forMs: number, bytesPerMs: number): Promise<Buffer> {
  const startedAt = performance.now();
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk);
    if (performance.now() - startedAt < forMs) await rest(chunk.length / bytesPerMs);
  }
  expect(performance.now() - startedAt).toBeGreaterThan(forMs);
  return Buffer.concat(chunks);
}

const inOnePiece = (response: NodeResponse): void => void response.end(Buffer.from(large, "latin1"));
const asText = (response: NodeResponse): void => void response.end(large, "latin1");
const inManyPieces = (response: NodeResponse): void => {
  for (let at = 0; at < large.length; at += 1009)
    (response as { write: (text: string, encoding: BufferEncoding) => void }).write(
      large.slice(at, at + 1009),
      "latin1",
    );
  response.end();
};

test("[CZ-D-LISTEN-9] sends a large response in full to a caller that reads slowly, over HTTP/2", async () => {
  const held = Array.from({ length: 20 }, (_, i) => registry.addChannel({ target: `${i}${"x".repeat(100_000)}` }));
  cleanups.push(() => {
    for (const channel of held) channel.close();
  });
  const responses = { "/one": inOnePiece, "/text": asText, "/many": inManyPieces };
  const listener = await start({ stallTimeoutMs: 1000 }, responses);
  const whole = Buffer.from(large, "latin1");
  const isReadInFull = async (path: string): Promise<boolean> =>
    whole.equals(await readSlowly(request(await openRoomy(listener), path), 1600, 2000));
  const readChannels = async (): Promise<{ isWhole: boolean; status: string }> => {
    const stream = request(await openRoomy(listener), getTopChannels, "application/grpc");
    const trailers = once(stream, "trailers");
    const bytes = await readSlowly(stream, 1600, 1000);
    const isWhole = bytes.length > 2_000_000 && bytes.readUInt32BE(1) === bytes.length - 5;
    return { isWhole, status: (await trailers)[0]["grpc-status"] };
  };
  const [channels, ...texts] = await Promise.all([readChannels(), ...Object.keys(responses).map(isReadInFull)]);
  expect(channels).toEqual({ isWhole: true, status: "0" });
  expect(texts).toEqual([true, true, true]);
  expect(listener.stats().requestsTimedOut).toBe(0);
});

test("[CZ-D-LISTEN-9] sends a large response in full to a caller that reads slowly, over HTTP/1.1, with TLS and without", async () => {
  const size = 24 * 1024 * 1024;
  const responses = { "/one": (response: NodeResponse) => void response.end(Buffer.alloc(size)) };
  const limits = { stallTimeoutMs: 2000 };
  const [plain, encrypted] = await Promise.all([
    start(limits, responses),
    start(limits, responses, { tls: createCertificate("slow") }),
  ]);
  const secure = connectTls({ ...portOf(encrypted.address), rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
  await once(secure, "secureConnect");
  const sockets = [await openSocket(portOf(plain.address)), secure];
  const read = sockets.map(async (socket) => {
    cleanups.push(() => socket.destroy());
    socket.pause();
    socket.write("GET /one HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const { length } = await readSlowly(socket, 3000, 5000);
    return length > size;
  });
  expect(await Promise.all(read)).toEqual([true, true]);
  for (const { stats } of [plain, encrypted]) expect(stats().requestsTimedOut).toBe(0);
});

test("[CZ-D-LISTEN-9] keeps the response of a caller that reads more slowly than data is added, over both versions", async () => {
  const stallTimeoutMs = 800;
  const grow = (response: NodeResponse): void => {
    const { write } = response as { write: (bytes: Buffer) => void };
    write.call(response, Buffer.alloc(16 * 1024 * 1024));
    const timer = setInterval(() => write.call(response, Buffer.alloc(256 * 1024)), 10);
    cleanups.push(() => clearInterval(timer));
  };
  const listener = await start({ stallTimeoutMs }, { "/growing": grow });
  const takeForAWhile = async (stream: Readable): Promise<number> => {
    const startedAt = performance.now();
    for await (const _ of stream) {
      if (performance.now() - startedAt > 2 * stallTimeoutMs) break;
      await rest(5);
    }
    return performance.now() - startedAt;
  };
  const socket = await openSocket(portOf(listener.address));
  cleanups.push(() => socket.destroy());
  socket.write("GET /growing HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const stream = request(await openRoomy(listener), "/growing");
  const tookMs = await Promise.all([socket, stream].map(takeForAWhile));
  for (const ms of tookMs) expect(ms).toBeGreaterThan(2 * stallTimeoutMs);
  expect(listener.stats().requestsTimedOut).toBe(0);
});

test("[CZ-D-LISTEN-9] resets the stream of a caller that reads nothing of it, even if it reads another stream and sends PINGs", async () => {
  const huge = (response: NodeResponse): void => void response.end(Buffer.alloc(64 * 1024 * 1024));
  const listener = await start({ stallTimeoutMs: 1500 }, { "/huge": huge });
  const session = await openRoomy(listener);
  const stalled = request(session, "/huge");
  const other = request(session, "/huge");
  const pings = setInterval(() => session.ping(() => {}), 5);
  cleanups.push(() => clearInterval(pings));
  let taken = 0;
  const reading = (async () => {
    for await (const chunk of other) {
      taken += chunk.length;
      await rest(5);
    }
  })().catch(() => {});
  await eventually(() => stalled.closed);
  expect(stalled.rstCode).toBe(8);
  expect(listener.stats()).toMatchObject({ requestsTimedOut: 1, requestsOpen: 1 });
  const before = taken;
  await eventually(() => taken > before || other.closed);
  expect(other.closed).toBe(false);
  other.close();
  await reading;
});

test("[CZ-D-LISTEN-9] resets the stream of a caller that never grants a window", async () => {
  const listener = await start({ stallTimeoutMs: 100 }, { "/one": inOnePiece });
  const session = connectHttp2(listener.url, { settings: { initialWindowSize: 0 } });
  cleanups.push(() => session.destroy());
  const stream = request(session, "/one");
  await eventually(() => stream.closed);
  expect(stream.rstCode).toBe(8);
  await eventually(() => listener.stats().requestsOpen === 0);
});
