import { connect as connectHttp2 } from "node:http2";
import { expect, onTestFinished, test } from "vitest";
import { createRegistry } from "../registry/registry.js";
import type { NodeResponse } from "./connect-handler.js";
import { type ChannelzListener, type ListenOptions, listenChannelz } from "./listen.js";
import { eventually, grpcFrame, openSession, openSocket, portOf, rawRequest } from "./raw-caller.test.helper.js";

const mebi = 1024 * 1024;
const registry = createRegistry();

async function start(options: ListenOptions): Promise<ChannelzListener> {
  const listener = await listenChannelz(registry, options);
  onTestFinished(() => listener.close({ deadlineMs: 0 }));
  return listener;
}

/** Sends an HTTP/2 request whose response the client does not read. */
function askWithoutWindow(
  { url }: ChannelzListener,
  path: string,
  contentType = "text/plain",
): { readonly isClosed: () => boolean } {
  const session = connectHttp2(url, { settings: { initialWindowSize: 0 } });
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": contentType });
  stream.on("error", () => {});
  stream.end(grpcFrame());
  return { isClosed: () => session.closed || session.destroyed };
}

const body = Buffer.alloc(4 * mebi, "x");
const fallbacks: Readonly<Record<string, (response: NodeResponse) => void>> = {
  "a response at once": (response) => void response.end(body),
  "a stream of small events": (response) => {
    const { write } = response as { write: (text: string) => void };
    for (let sent = 0; sent < body.length; sent += 1024) write.call(response, "x".repeat(1024));
  },
};

test.each(Object.keys(fallbacks))(
  "[CZ-D-LISTEN-11] bounds the unread bytes of all clients together, for %s",
  async (kind) => {
    const listener = await start({
      limits: { maxUnreadBytes: 16 * mebi },
      fallback: ({ url }, response) => (url === "/small" ? void response.end("small") : fallbacks[kind]?.(response)),
    });
    const reader = await openSession(listener.url);
    onTestFinished(() => reader.destroy());
    const sleepers = Array.from({ length: 10 }, () => askWithoutWindow(listener, "/large"));
    await eventually(() => sleepers.filter(({ isClosed }) => isClosed()).length === 6);
    expect(listener.stats()).toMatchObject({ connectionsUnread: 6, connectionsTimedOut: 0 });
    // Others are not affected: with a small response, and with a large one that is read.
    expect((await rawRequest(reader, { ":path": "/small" })).body.toString()).toBe("small");
    if (kind === "a response at once") {
      expect((await rawRequest(reader, { ":path": "/large" })).body).toHaveLength(body.length);
    }
    expect(reader.closed).toBe(false);
  },
);

test("[CZ-D-LISTEN-11] counts unread gRPC responses towards the limit of unread bytes", async () => {
  const held = Array.from({ length: 20 }, (_, i) => registry.addChannel({ target: `${i}${"x".repeat(100_000)}` }));
  onTestFinished(() => {
    for (const channel of held) channel.close();
  });
  const listener = await start({ limits: { maxUnreadBytes: 9_000_000 } });
  const path = "/rpc.channelz.v1.Channelz/GetTopChannels";
  const sleepers = Array.from({ length: 10 }, () => askWithoutWindow(listener, path, "application/grpc"));
  await eventually(() => sleepers.filter(({ isClosed }) => isClosed()).length === 6);
  expect(listener.stats().connectionsUnread).toBe(6);
});

test("[CZ-D-LISTEN-11] counts responses to pipelined requests towards the limit while they wait for their turn", async () => {
  let first: NodeResponse | undefined;
  const listener = await start({
    limits: { maxUnreadBytes: 16 * mebi },
    fallback(_, response) {
      if (first === undefined) first = response;
      else response.end(body);
    },
  });
  const socket = await openSocket(portOf(listener.address));
  onTestFinished(() => void socket.destroy());
  socket.resume().write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(10));
  await eventually(() => socket.closed);
  expect(listener.stats()).toMatchObject({ connectionsUnread: 1, connectionsOpen: 0, requestsOpen: 0 });
});

test("[CZ-D-LISTEN-11] closes the client first that has read nothing for the longest time", async () => {
  const listener = await start({
    limits: { maxUnreadBytes: 10 * mebi },
    fallback: ({ url }, response) => void response.end(url === "/huge" ? Buffer.alloc(9 * mebi) : body.subarray(mebi)),
  });
  const old = askWithoutWindow(listener, "/");
  await eventually(() => listener.stats().requestsOpen === 1);
  const young = askWithoutWindow(listener, "/huge");
  await eventually(() => old.isClosed());
  expect(young.isClosed()).toBe(false);
  expect(listener.stats().connectionsUnread).toBe(1);
});
