import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { connect as connectRaw } from "node:net";
import { createRegistry, type Registry, type Server } from "@wirescope/channelz";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { eventually, streamsOf, traceOf } from "../http/both-ends.test.helper.js";
import { closeAfterTest, portOf } from "../sockets/connections.test.helper.js";
import { observeHttp2Server } from "./observe-server.js";
import { endHeaders, endStream, errorCode, frameTypes, rawClient, requestHeaders } from "./raw-peer.test.helper.js";

let registry: Registry;
let server: Http2Server;
let sessions: ServerHttp2Session[];
let respond: (stream: ServerHttp2Stream) => void;

beforeEach(async () => {
  registry = createRegistry();
  sessions = [];
  respond = (stream) => stream.respond({}, { endStream: true });
  server = createServer();
  observeHttp2Server(registry, server);
  server.on("session", (session) => {
    sessions.push(session);
    session.on("error", () => {});
  });
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    respond(stream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
});

async function shownServer(): Promise<Server> {
  return (await registry.getServers()).server[0]!;
}

/** The trace events of sessions and streams. */
async function trace(): Promise<string[]> {
  return traceOf(await shownServer()).filter((event) => event !== "Created" && event !== "Listening");
}

async function expectTrace(...expected: string[]): Promise<void> {
  await eventually(async () => expect(await trace()).toEqual(expected));
}

async function open(): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${portOf(server)}`);
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  const stream = session.request({ ":path": "/" });
  stream.on("error", () => {});
  stream.resume();
  await once(stream, "response");
  return session;
}

/** Waits until every connection is gone from the registry. */
async function expectNoConnections(): Promise<void> {
  await eventually(() => expect(registry.size.sockets).toBe(1));
}

test("traces a GOAWAY that the server sends, with its code and severity", async () => {
  const client = await open();
  sessions[0]!.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  await new Promise((resolve) => client.once("close", resolve));
  // Node does not notice by itself that the client has disconnected.
  sessions[0]!.destroy();
  await expectNoConnections();
  await expectTrace("GOAWAY sent: ENHANCE_YOUR_CALM");
  await open();
  sessions[1]!.close();
  await expectTrace("GOAWAY sent: ENHANCE_YOUR_CALM", "GOAWAY sent: NO_ERROR");
  const { events } = (await shownServer()).data!.trace!;
  expect(events.slice(-2).map(({ severity }) => severity)).toEqual([2, 1]);
});

test.each([
  ["alone", (session: ServerHttp2Session) => session.destroy(constants.NGHTTP2_INADEQUATE_SECURITY as never)],
  [
    "and an error",
    (session: ServerHttp2Session) => session.destroy(new Error("no"), constants.NGHTTP2_INADEQUATE_SECURITY),
  ],
])("reports the code of a session that is destroyed with code %s once", async (_, destroy) => {
  await open();
  destroy(sessions[0]!);
  await expectNoConnections();
  await expectTrace("GOAWAY sent: INADEQUATE_SECURITY");
});

test("reports nothing for a session that is destroyed without an error, because its server intended that", async () => {
  await open();
  sessions[0]!.destroy(undefined, constants.NGHTTP2_INADEQUATE_SECURITY);
  await expectNoConnections();
  expect(await trace()).toEqual([]);
});

test("does not report clients that close properly, nor the response to their GOAWAY", async () => {
  for (const _ of [1, 2, 3]) {
    const client = await open();
    client.close();
    await new Promise((resolve) => client.once("close", resolve));
  }
  await expectNoConnections();
  expect(await trace()).toEqual([]);
});

test("traces a GOAWAY with an error that a client sends once", async () => {
  const peer = await rawClient(portOf(server));
  await eventually(() => expect(sessions).toHaveLength(1));
  peer.write(frameTypes.goaway, 0, 0, Buffer.concat([errorCode(0), errorCode(2)]));
  await expectNoConnections();
  await expectTrace("GOAWAY received: INTERNAL_ERROR");
});

test("reports a connection reset as lost, even if nothing was in flight", async () => {
  const peer = await rawClient(portOf(server));
  await peer.frame(({ type, flags }) => type === frameTypes.settings && flags === 1);
  peer.cut();
  await expectNoConnections();
  await expectTrace("Connection lost: ECONNRESET");
});

test("reports a connection that ends without GOAWAY as lost if calls were in progress", async () => {
  respond = (stream) => stream.respond();
  const peer = await rawClient(portOf(server));
  for (const id of [1, 3]) peer.write(frameTypes.headers, endHeaders | endStream, id, requestHeaders);
  await peer.frame(({ type, streamId }) => type === frameTypes.headers && streamId === 3);
  const { socketRef } = await registry.getServerSockets((await shownServer()).ref!.serverId);
  peer.end();
  await expectNoConnections();
  await eventually(async () => {
    expect((await trace()).slice(0, 2)).toEqual([
      "Connection lost: closed with calls in progress",
      "Stream reset: CANCEL",
    ]);
  });
  const { socket } = await registry.getSocket(socketRef[0]!.socketId);
  expect(streamsOf(socket!)).toEqual([2, 0, 2]);
});

test("reports a client that does not speak HTTP/2 with the error of Node", async () => {
  const stranger = connectRaw(portOf(server), "127.0.0.1");
  closeAfterTest(stranger);
  stranger.write("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
  await eventually(() => expect(sessions).toHaveLength(1));
  await expectNoConnections();
  await expectTrace("Connection lost: Received bad client magic byte string");
});

test("reports a hundred connections that are lost at once in a few events", async () => {
  const peers = await Promise.all(Array.from({ length: 100 }, () => rawClient(portOf(server))));
  // A reset that arrives before the handshake was read is no lost connection.
  await Promise.all(peers.map((peer) => peer.frame(({ type, flags }) => type === frameTypes.settings && flags === 1)));
  for (const peer of peers) peer.cut();
  await expectNoConnections();
  await eventually(async () => {
    const events = await trace();
    expect(events.length).toBeLessThan(10);
    const lost = events.map((event) => Number(/^Connection lost, (\d+) more/.exec(event)?.[1] ?? 1));
    expect(lost.reduce((sum, count) => sum + count)).toBe(100);
  });
});
