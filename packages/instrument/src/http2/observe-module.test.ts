import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  createSecureServer,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
} from "node:http2";
import { createServer as createNetServer } from "node:net";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { type Channel, createRegistry, type Registry, type Subchannel } from "@wirescope/channelz";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { callsOf, eventually, stateOf, traceOf } from "../http/both-ends.test.helper.js";
import { stopObserving } from "../observation.js";
import {
  certificate,
  closeAfterTest,
  listening,
  portOf,
  serverIdentity,
  unixPath,
} from "../sockets/connections.test.helper.js";
import { observeHttp2Session } from "./observe-client.js";
import { observeHttp2Module } from "./observe-module.js";
import { observeHttp2Server } from "./observe-server.js";

let registry: Registry;

beforeEach(() => {
  registry = createRegistry();
});

/** Observes `node:http2` until it is stopped or the test ends. */
function observe(maxIdleChannels?: number): () => void {
  const stop = observeHttp2Module(registry, maxIdleChannels === undefined ? {} : { maxIdleChannels });
  onTestFinished(stop);
  return stop;
}

async function serve(port = 0): Promise<Http2Server> {
  const server = createServer((request, response) => void (request.url !== "/hang" && response.end("hello")));
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => void sessions.add(session));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return server;
}

function open(target: string, options = {}): ClientHttp2Session {
  const session = connect(target, options);
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  return session;
}

async function get(session: ClientHttp2Session): Promise<void> {
  const stream = session.request({ ":path": "/" });
  stream.on("error", () => {});
  stream.resume();
  await once(stream, "close");
}

/** Waits for the end of a session, successful or not. */
function over(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve) => session.once("close", resolve));
}

async function channels(): Promise<Channel[]> {
  return (await registry.getTopChannels()).channel;
}

async function subchannelOf(channel: Channel | undefined): Promise<Subchannel> {
  return (await registry.getSubchannel(channel!.subchannelRef.at(-1)!.subchannelId)).subchannel!;
}

const nothing = { channels: 0, subchannels: 0, servers: 0, sockets: 0 };

test("shows the servers and sessions of the process, removes them when observation stops, and shows them again when it restarts", async () => {
  const stop = observe();
  const server = await serve();
  const session = open(`http://127.0.0.1:${portOf(server)}`);
  const shown = { channels: 1, subchannels: 1, servers: 1, sockets: 3 };
  await get(session);
  await eventually(() => expect(registry.size).toMatchObject(shown));
  const [first] = await channels();
  expect([first?.data?.target, callsOf(first!)]).toEqual([`http://127.0.0.1:${portOf(server)}`, [1, 1, 0]]);

  stop();
  expect(registry.size).toMatchObject(nothing);
  await get(session);
  expect(registry.size).toMatchObject(nothing);

  const stopAgain = observe();
  await get(session);
  await eventually(() => expect(registry.size).toMatchObject(shown));
  const [again] = await channels();
  expect(again?.ref).not.toEqual(first?.ref);
  expect([stateOf(again!), callsOf(again!)]).toEqual(["READY", [1, 1, 0]]);
  session.destroy();
  server.close();
  await once(server, "close");
  await eventually(() => expect(registry.size).toMatchObject({ channels: 1, subchannels: 0, servers: 0, sockets: 0 }));
  stopAgain();
  expect(registry.size).toMatchObject(nothing);
});

describe("[CZ-D-TARGET-1] the channel of a target", () => {
  test("[CZ-DATA-3] keeps the channel of a target through its sessions, and counts the calls of all of them", async () => {
    observe();
    const target = `http://127.0.0.1:${portOf(await serve())}`;
    for (const calls of [1, 2, 3]) {
      const session = open(target);
      await get(session);
      const [channel, ...others] = await channels();
      expect(others).toEqual([]);
      expect([stateOf(channel!), callsOf(channel!)]).toEqual(["READY", [calls, calls, 0]]);
      const subchannel = await subchannelOf(channel);
      expect([subchannel.data?.target, callsOf(subchannel)]).toEqual([target.slice("http://".length), [1, 1, 0]]);
      session.close();
      await over(session);
      expect((await channels()).map(stateOf)).toEqual(["IDLE"]);
    }
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 0 });
  });

  test("[CZ-SOCKET-4] omits the remote name of sockets if the target contains it", async () => {
    observe();
    const target = `http://localhost:${portOf(await serve())}`;
    await get(open(target, { family: 4 }));
    const [channel] = await channels();
    expect(channel?.data?.target).toBe(target);
    const { socketRef } = await subchannelOf(channel);
    const { socket } = await registry.getSocket(socketRef[0]!.socketId);
    expect([socket?.remoteName, socket?.remote?.address.case]).toEqual(["", "tcpipAddress"]);
  });

  test("[CZ-D-STATE-4] shows TRANSIENT_FAILURE with the cause while nothing listens at the target, and READY when something does", async () => {
    observe();
    const gone = await serve();
    const port = portOf(gone);
    gone.close();
    await once(gone, "close");
    for (const attempt of [1, 2]) {
      await over(open(`http://127.0.0.1:${port}`));
      expect((await channels()).map((channel) => [attempt, stateOf(channel)])).toEqual([
        [attempt, "TRANSIENT_FAILURE"],
      ]);
    }
    await serve(port);
    await get(open(`http://127.0.0.1:${port}`));
    const [channel] = await channels();
    expect([stateOf(channel!), callsOf(channel!)]).toEqual(["READY", [1, 1, 0]]);
    const failed = `CONNECTING -> TRANSIENT_FAILURE: connect ECONNREFUSED 127.0.0.1:${port}`;
    expect(traceOf(channel!).filter((event) => event.includes(" -> "))).toEqual([
      "IDLE -> CONNECTING",
      failed,
      "TRANSIENT_FAILURE -> CONNECTING",
      failed,
      "TRANSIENT_FAILURE -> CONNECTING",
      "CONNECTING -> READY",
    ]);
  });

  test("[CZ-D-STATE-4] shows TRANSIENT_FAILURE if TLS 1.3 rejects a session after its handshake for lack of a certificate", async () => {
    observe();
    const ca = certificate("ca.pem");
    const server = await listening(
      createSecureServer({ ...serverIdentity, ca, requestCert: true, minVersion: "TLSv1.3" }),
    );
    // Node destroys such a session but closes neither the session nor its socket, so the test has to.
    const socket = connectTls({ port: portOf(server), ca, servername: "localhost", ALPNProtocols: ["h2"] });
    closeAfterTest(socket);
    open("https://rejected.test", { createConnection: () => socket });
    await eventually(async () => {
      const [channel] = await channels();
      expect(traceOf(channel!).join()).toContain("CONNECTING -> TRANSIENT_FAILURE: tlsv13 alert certificate required");
      expect(stateOf(channel!)).toBe("TRANSIENT_FAILURE");
      expect(channel!.subchannelRef).toEqual([]);
    });
  });

  test("[CZ-D-STATE-4] stays CONNECTING while the peer accepts the connection but sends nothing", async () => {
    observe();
    const silent = await listening(createNetServer((socket) => closeAfterTest(socket.resume())));
    const session = open(`http://127.0.0.1:${portOf(silent)}`);
    session.on("error", () => {});
    await once(session, "connect");
    const [channel] = await channels();
    const subchannel = await subchannelOf(channel);
    expect([stateOf(channel!), stateOf(subchannel)]).toEqual(["CONNECTING", "CONNECTING"]);
    expect(subchannel.socketRef).toHaveLength(1);
    session.destroy(new Error("no settings in time"));
    await eventually(async () => expect(stateOf((await channels())[0]!)).toBe("TRANSIENT_FAILURE"));
  });

  test("[CZ-D-STATE-4] changes to IDLE at the GOAWAY of its only session, whose call continues, and to READY with the next one", async () => {
    observe();
    const server = await serve();
    const sessions: ServerHttp2Session[] = [];
    server.on("session", (session: ServerHttp2Session) => sessions.push(session));
    const target = `http://127.0.0.1:${portOf(server)}`;
    const session = open(target);
    await get(session);
    const arrived = once(server, "stream");
    const waiting = session.request({ ":path": "/hang" });
    waiting.on("error", () => {});
    await arrived;
    sessions[0]!.goaway();
    await once(session, "goaway");
    const [channel] = await channels();
    expect([stateOf(channel!), stateOf(await subchannelOf(channel))]).toEqual(["IDLE", "IDLE"]);
    await get(open(target));
    expect(stateOf((await channels())[0]!)).toBe("READY");
    waiting.destroy();
    await eventually(async () => expect((await channels())[0]!.subchannelRef).toHaveLength(1));
    expect(stateOf((await channels())[0]!)).toBe("READY");
  });

  test("shows READY while one session of the target is ready", async () => {
    observe();
    const target = `http://127.0.0.1:${portOf(await serve())}`;
    const [one, other] = [open(target), open(`${target}/with/a/path`)];
    await Promise.all([get(one), get(other)]);
    expect((await channels())[0]?.subchannelRef).toHaveLength(2);
    one.destroy();
    await eventually(async () => expect((await channels())[0]?.subchannelRef).toHaveLength(1));
    expect((await channels()).map(stateOf)).toEqual(["READY"]);
  });

  test("keeps a limited number of channels that have no session", async () => {
    observe(3);
    const server = await serve();
    const alive = open(`http://127.0.0.1:${portOf(server)}`);
    await get(alive);
    for (const name of ["a", "b", "c", "a", "d", "e"]) {
      await over(open(`http://${name}.invalid`, { lookup: failedLookup }));
    }
    expect((await channels()).map(({ data }) => data?.target)).toEqual([
      `http://127.0.0.1:${portOf(server)}`,
      "http://a.invalid",
      "http://d.invalid",
      "http://e.invalid",
    ]);
  });

  test("[CZ-ADDR-4] shows unix: and the path as the target if a path was requested", async () => {
    observe();
    const path = unixPath();
    const server = createServer((_request, response) => response.end("hello"));
    server.listen(path);
    await once(server, "listening");
    const session = open("http://localhost", { path });
    await get(session);
    const [channel] = await channels();
    expect(channel?.data?.target).toBe(`unix:${path}`);
    const { socketRef } = await subchannelOf(channel);
    const { socket } = await registry.getSocket(socketRef[0]!.socketId);
    expect(socket?.remote?.address).toMatchObject({ case: "udsAddress", value: { filename: path } });
    session.destroy();
    server.close();
    await once(server, "close");
  });

  test("releases a session and its state when the application starts to observe it itself", async () => {
    observe();
    const session = open(`http://127.0.0.1:${portOf(await serve())}`);
    await get(session);
    const own = createRegistry();
    observeHttp2Session(own, session);
    expect((await channels()).map((channel) => [stateOf(channel), channel.subchannelRef])).toEqual([["IDLE", []]]);
    await get(session);
    expect((await own.getTopChannels()).channel.map((channel) => [channel.data?.target, ...callsOf(channel)])).toEqual([
      [(await channels())[0]?.data?.target, 1, 1, 0],
    ]);
  });
});

test("shows a session that was awaited through util.promisify", async () => {
  observe();
  const session = (await promisify(connect)(`http://127.0.0.1:${portOf(await serve())}`)) as ClientHttp2Session;
  onTestFinished(() => session.destroy());
  await get(session);
  expect((await channels()).map(callsOf)).toEqual([[1, 1, 0]]);
  await expect(promisify(connect)("http://127.0.0.1:1")).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

describe("[CZ-D-LISTEN-5] a server that exists before the observation", () => {
  test("shows a listening server at once, with the connections that are made from then on", async () => {
    const server = await serve();
    observe();
    expect(registry.size).toMatchObject({ servers: 1, sockets: 1 });
    await get(open(`http://127.0.0.1:${portOf(server)}`));
    await eventually(async () => expect((await registry.getServers()).server.map(callsOf)).toEqual([[1, 1, 0]]));
  });

  test("shows a server as soon as it listens", async () => {
    const server = createServer((_request, response) => response.end("hello"));
    observe();
    expect(registry.size).toMatchObject({ servers: 0 });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    expect(registry.size).toMatchObject({ servers: 1, sockets: 1 });
    server.close();
  });

  test("leaves a server where the application already shows it", async () => {
    const server = await serve();
    const own = createRegistry();
    const handle = observeHttp2Server(own, server);
    const stop = observe();
    expect(registry.size).toMatchObject({ servers: 0 });
    stop();
    expect(handle.isClosed).toBe(false);
  });
});

test("keeps showing a server that the application observes itself after everything else has stopped", async () => {
  const stop = observe();
  const server = await serve();
  const handle = observeHttp2Server(createRegistry(), server);
  expect(registry.size).toMatchObject({ servers: 0 });
  stop();
  expect(handle.isClosed).toBe(false);
  expect(stopObserving(server)).toBe(true);
});

test("shares the observation with a second call for the same registry, and rejects one for another", async () => {
  const stops = [observe(), observe()];
  expect(() => observeHttp2Module(createRegistry())).toThrow(/^node:http2 servers and sessions are already observed/);
  await serve();
  expect(registry.size).toMatchObject({ servers: 1, sockets: 1 });
  stops[0]!();
  expect(registry.size).toMatchObject({ servers: 1, sockets: 1 });
  stops[1]!();
  expect(registry.size).toMatchObject(nothing);
});

function failedLookup(_host: string, _options: object, done: (error: Error) => void): void {
  done(new Error("no such name"));
}
