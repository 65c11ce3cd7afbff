import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { createRegistry, type Registry, type SocketData } from "@wirescope/channelz";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../http/both-ends.test.helper.js";
import { observeHttp2Session } from "./observe-client.js";
import { observeHttp2Server } from "./observe-server.js";

let registry: Registry;
let server: Http2Server;
let session: ClientHttp2Session;
let respond: (stream: ServerHttp2Stream, path: string) => void;

function message(text: string): Buffer {
  const frame = Buffer.alloc(5 + text.length);
  frame.writeUInt32BE(text.length, 1);
  frame.write(text, 5);
  return frame;
}

const grpc = { "content-type": "application/grpc" };

/** Responds with messages as a gRPC server does. */
function reply(stream: ServerHttp2Stream, count: number, status = "0"): void {
  stream.respond(grpc, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
  for (let i = 0; i < count; i += 1) stream.write(message(`response ${i}`));
  stream.end();
}

function call(path = "/a.B/C", ...messages: string[]): ClientHttp2Stream {
  const stream = session.request({ ":method": "POST", ":path": path, ...grpc });
  stream.on("error", () => {});
  for (const text of messages) stream.write(message(text));
  stream.end();
  stream.resume();
  return stream;
}

async function ended(stream: ClientHttp2Stream): Promise<void> {
  if (!stream.destroyed) await once(stream, "close").catch(() => {});
}

interface Ends {
  readonly client: SocketData;
  readonly server: SocketData;
  readonly channelCalls: readonly bigint[];
  readonly subchannelCalls: readonly bigint[];
  readonly serverCalls: readonly bigint[];
}

async function look(): Promise<Ends> {
  const channel = (await registry.getTopChannels()).channel[0]!;
  const { subchannel } = await registry.getSubchannel(channel.subchannelRef[0]!.subchannelId);
  const shown = (await registry.getServers()).server[0]!;
  const { socketRef } = await registry.getServerSockets(shown.ref!.serverId);
  const calls = (data: { callsStarted: bigint; callsSucceeded: bigint; callsFailed: bigint } | undefined): bigint[] => [
    data!.callsStarted,
    data!.callsSucceeded,
    data!.callsFailed,
  ];
  return {
    client: (await registry.getSocket(subchannel!.socketRef[0]!.socketId)).socket!.data!,
    server: (await registry.getSocket(socketRef[0]!.socketId)).socket!.data!,
    channelCalls: calls(channel.data),
    subchannelCalls: calls(subchannel?.data),
    serverCalls: calls(shown.data),
  };
}

/** Both ends once nothing is in flight on either. */
async function settled(): Promise<Ends> {
  return eventually(async () => {
    const ends = await look();
    for (const { streamsStarted, streamsSucceeded, streamsFailed } of [ends.client, ends.server]) {
      expect(streamsSucceeded + streamsFailed).toBe(streamsStarted);
    }
    return ends;
  });
}

function streams(data: SocketData): bigint[] {
  return [data.streamsStarted, data.streamsSucceeded, data.streamsFailed];
}

function messages(data: SocketData): bigint[] {
  return [data.messagesSent, data.messagesReceived];
}

beforeEach(async () => {
  registry = createRegistry();
  respond = (stream) => reply(stream, 1);
  server = createServer();
  observeHttp2Server(registry, server, { name: "test" });
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    respond(stream, String(headers[":path"]));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  observeHttp2Session(registry, session, { target: `127.0.0.1:${port}` });
});

afterEach(async () => {
  session.destroy();
  await new Promise((resolve) => server.close(resolve));
});

describe("counters of both ends", () => {
  test("[CZ-SOCKET-5] [CZ-SOCKET-6] [CZ-SOCKET-8] counts a unary call that succeeds", async () => {
    await ended(call("/a.B/C", "question"));
    const ends = await settled();
    expect(streams(ends.client)).toEqual([1n, 1n, 0n]);
    expect(streams(ends.server)).toEqual([1n, 1n, 0n]);
    expect(messages(ends.client)).toEqual([1n, 1n]);
    expect(messages(ends.server)).toEqual([1n, 1n]);
    for (const calls of [ends.channelCalls, ends.subchannelCalls, ends.serverCalls])
      expect(calls).toEqual([1n, 1n, 0n]);
  });

  test("[CZ-SOCKET-8] counts many messages in both directions, however they are split into frames", async () => {
    respond = (stream) => {
      stream.resume();
      stream.on("end", () => reply(stream, 50));
    };
    await ended(call("/a.B/C", ...Array.from({ length: 30 }, (_, i) => "x".repeat(i * 997))));
    const ends = await settled();
    expect(messages(ends.client)).toEqual([30n, 50n]);
    expect(messages(ends.server)).toEqual([50n, 30n]);
  });

  test("[CZ-SOCKET-6] [CZ-DATA-5] counts an error with trailers as a successful stream and a failed call", async () => {
    respond = (stream) => reply(stream, 0, "13");
    await ended(call());
    const ends = await settled();
    expect(streams(ends.client)).toEqual([1n, 1n, 0n]);
    expect(streams(ends.server)).toEqual([1n, 1n, 0n]);
    for (const calls of [ends.channelCalls, ends.subchannelCalls, ends.serverCalls])
      expect(calls).toEqual([1n, 0n, 1n]);
  });

  test("[CZ-SOCKET-6] counts an error in headers alone (UNIMPLEMENTED) as a successful stream and a failed call", async () => {
    respond = (stream) => stream.respond({ ...grpc, "grpc-status": "12" }, { endStream: true });
    await ended(call());
    const ends = await settled();
    expect(streams(ends.client)).toEqual([1n, 1n, 0n]);
    expect(streams(ends.server)).toEqual([1n, 1n, 0n]);
    for (const calls of [ends.channelCalls, ends.serverCalls]) expect(calls).toEqual([1n, 0n, 1n]);
  });

  test("[CZ-SOCKET-7] counts a call that the client cancels as failed on both ends", async () => {
    respond = (stream) => stream.respond(grpc);
    const stream = call("/a.B/C", "question");
    await once(stream, "response");
    stream.close(constants.NGHTTP2_CANCEL);
    await ended(stream);
    const ends = await settled();
    expect(streams(ends.client)).toEqual([1n, 0n, 1n]);
    expect(streams(ends.server)).toEqual([1n, 0n, 1n]);
    for (const calls of [ends.channelCalls, ends.serverCalls]) expect(calls).toEqual([1n, 0n, 1n]);
  });

  test("[CZ-SOCKET-6] [CZ-SOCKET-7] [CZ-SERVER-3] counts a response whose trailers are not sent before the client resets it as failed", async () => {
    const wantsTrailers = new Promise<void>((resolve) => {
      respond = (stream) => {
        stream.respond({ "content-type": "text/plain" }, { waitForTrailers: true });
        stream.on("wantTrailers", resolve);
        stream.end("all but the trailers");
      };
    });
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => {});
    stream.resume();
    await wantsTrailers;
    stream.close(constants.NGHTTP2_CANCEL);
    await ended(stream);
    const ends = await settled();
    expect(streams(ends.client)).toEqual([1n, 0n, 1n]);
    expect(streams(ends.server)).toEqual([1n, 0n, 1n]);
    for (const calls of [ends.channelCalls, ends.serverCalls]) expect(calls).toEqual([1n, 0n, 1n]);
  });

  test("[CZ-SOCKET-7] counts a call whose signal was aborted before it started as failed", async () => {
    await ended(call());
    const stream = session.request({ ":path": "/" }, { signal: AbortSignal.abort() });
    stream.on("error", () => {});
    const ends = await settled();
    expect(streams(ends.client)).toEqual([2n, 1n, 1n]);
    expect(ends.channelCalls).toEqual([2n, 1n, 1n]);
  });

  const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_REFUSED_STREAM, NGHTTP2_NO_ERROR } = constants;
  const major = Number(process.versions.node.split(".")[0]);

  test.each([
    [NGHTTP2_INTERNAL_ERROR, true],
    [NGHTTP2_NO_ERROR, true],
    // From Node 22 on, it is refused at once.
    [NGHTTP2_REFUSED_STREAM, major < 22],
  ])(
    "[CZ-SOCKET-6] counts a stream that Node ends before it resets it with code %i as succeeded (%s), and the call as failed",
    async (code, endsFirst) => {
      respond = (stream) => {
        stream.respond(grpc);
        stream.write(message("half"), () => stream.close(code));
      };
      await ended(call("/a.B/C", "question"));
      const ends = await settled();
      const outcome = endsFirst ? [1n, 1n, 0n] : [1n, 0n, 1n];
      expect(streams(ends.client)).toEqual(outcome);
      expect(streams(ends.server)).toEqual(outcome);
      expect(messages(ends.server)[0]).toBe(1n);
      for (const calls of [ends.channelCalls, ends.serverCalls]) expect(calls).toEqual([1n, 0n, 1n]);
    },
  );

  test("[CZ-SOCKET-7] counts a stream that the server resets before it responds as failed on both ends", async () => {
    respond = (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM);
    await ended(call("/a.B/C", "question"));
    const ends = await settled();
    expect(streams(ends.client)).toEqual([1n, 0n, 1n]);
    expect(streams(ends.server)).toEqual([1n, 0n, 1n]);
    for (const calls of [ends.channelCalls, ends.serverCalls]) expect(calls).toEqual([1n, 0n, 1n]);
  });

  test("[CZ-SOCKET-7] counts only what was in flight as failed when a connection is lost", async () => {
    await ended(call());
    respond = (stream) => stream.respond(grpc);
    const hanging = [call(), call()];
    for (const stream of hanging) await once(stream, "response");
    const before = await look();
    expect(streams(before.client)).toEqual([3n, 1n, 0n]);
    const channelId = (await registry.getTopChannels()).channel[0]!.ref!.channelId;
    const subchannelId = (await registry.getTopChannels()).channel[0]!.subchannelRef[0]!.subchannelId;
    const socketId = (await registry.getSubchannel(subchannelId)).subchannel!.socketRef[0]!.socketId;
    session.destroy(new Error("cut"));
    for (const stream of hanging) await ended(stream);
    await eventually(async () => expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 1 }));
    const { socket } = await registry.getSocket(socketId);
    expect(streams(socket!.data!)).toEqual([3n, 1n, 2n]);
    const { channel } = await registry.getChannel(channelId);
    expect(channel?.data).toMatchObject({ callsStarted: 3n, callsSucceeded: 1n, callsFailed: 2n });
    expect(channel?.data?.state?.state).toBe(5);
  });

  test("[CZ-SOCKET-9] counts keep-alives on the end that sends them", async () => {
    await ended(call());
    await new Promise((resolve) => session.ping(resolve));
    await new Promise((resolve) => session.ping(resolve));
    const ends = await settled();
    expect([ends.client.keepAlivesSent, ends.server.keepAlivesSent]).toEqual([2n, 0n]);
  });

  test("[CZ-SOCKET-9] does not count a keep-alive that Node refuses, because too many are outstanding", async () => {
    await ended(call());
    let responses = 0;
    const onResponse = (error: Error | null): void => {
      if (!error) responses += 1;
    };
    const sent = Array.from({ length: 12 }, () => session.ping(onResponse));
    expect(sent.filter(Boolean)).toHaveLength(10);
    await eventually(async () => expect(responses).toBe(10));
    expect((await settled()).client.keepAlivesSent).toBe(10n);
  });

  test("[CZ-SOCKET-10] [CZ-SOCKET-11] records stream times on the right side", async () => {
    await ended(call());
    const { client, server: accepted } = await settled();
    expect(client.lastLocalStreamCreatedTimestamp).toBeDefined();
    expect(client.lastRemoteStreamCreatedTimestamp).toBeUndefined();
    expect(accepted.lastRemoteStreamCreatedTimestamp).toBeDefined();
    expect(accepted.lastLocalStreamCreatedTimestamp).toBeUndefined();
  });

  test("[CZ-SOCKET-11] counts a pushed stream as started by the other end", async () => {
    respond = (stream) => {
      stream.pushStream({ ":path": "/pushed" }, (error, pushed) => {
        if (error) throw error;
        pushed.respond();
        pushed.end("extra");
      });
      reply(stream, 1);
    };
    session.on("stream", (pushed) => pushed.resume());
    await ended(call());
    await eventually(async () => expect(streams((await look()).client)).toEqual([2n, 2n, 0n]));
    const { client, channelCalls } = await look();
    expect(client.lastRemoteStreamCreatedTimestamp).toBeDefined();
    expect(channelCalls).toEqual([1n, 1n, 0n]);
  });

  test("[CZ-D-MSG-1] counts a body without envelopes as one message, and the call by its HTTP status", async () => {
    respond = (stream, path) => {
      stream.respond({ ":status": path === "/missing" ? 404 : 200, "content-type": "application/json" });
      stream.write("{");
      stream.end("}");
    };
    for (const path of ["/found", "/missing"]) {
      const stream = session.request({ ":path": path });
      stream.resume();
      await ended(stream);
    }
    const ends = await settled();
    expect(messages(ends.client)).toEqual([0n, 2n]);
    expect(messages(ends.server)).toEqual([2n, 0n]);
    expect(streams(ends.client)).toEqual([2n, 2n, 0n]);
    for (const calls of [ends.channelCalls, ends.serverCalls]) expect(calls).toEqual([2n, 1n, 1n]);
  });

  test("[CZ-SOCKET-8] counts a request without envelopes when it is written, although its response is pending", async () => {
    respond = (stream) => stream.resume();
    const stream = session.request({ ":method": "POST", ":path": "/", "content-type": "application/json" });
    stream.on("error", () => {});
    stream.write("{");
    stream.end("}");
    await eventually(async () => {
      const { client, server: accepted } = await look();
      expect(messages(client)).toEqual([1n, 0n]);
      expect(messages(accepted)).toEqual([0n, 1n]);
    });
  });

  test("counts every started call as succeeded, failed or in flight at any moment", async () => {
    const open: ServerHttp2Stream[] = [];
    respond = (stream) => open.push(stream);
    const calls = Array.from({ length: 10 }, () => call("/a.B/C", "question"));
    await eventually(() => expect(open).toHaveLength(10));
    for (let done = 0; done < 10; done += 1) {
      const { client, server: accepted } = await look();
      expect(streams(client)).toEqual([10n, BigInt(done), 0n]);
      expect(streams(accepted)).toEqual([10n, BigInt(done), 0n]);
      reply(open[done]!, 1);
      await eventually(async () => {
        const now = await look();
        expect(now.client.streamsSucceeded).toBe(BigInt(done + 1));
        expect(now.server.streamsSucceeded).toBe(BigInt(done + 1));
      });
    }
    await Promise.all(calls.map(ended));
  });
});

test("[CZ-SOCKET-6] counts responses through Node's response objects as succeeded, with a body and without", async () => {
  const compat = createServer((request, response) => {
    response.statusCode = Number(request.url?.slice(1));
    if (request.url === "/200") response.write("hello");
    response.end();
  });
  const seen = createRegistry();
  observeHttp2Server(seen, compat);
  compat.listen(0, "127.0.0.1");
  await once(compat, "listening");
  const client = connect(`http://127.0.0.1:${(compat.address() as AddressInfo).port}`);
  for (const [method, path] of [
    ["GET", "/200"],
    ["HEAD", "/200"],
    ["GET", "/204"],
    ["GET", "/304"],
    ["GET", "/404"],
  ]) {
    const stream = client.request({ ":method": method, ":path": path });
    stream.resume();
    await once(stream, "close");
  }
  await eventually(async () => {
    const shown = (await seen.getServers()).server[0]!;
    expect(shown.data).toMatchObject({ callsStarted: 5n, callsSucceeded: 4n, callsFailed: 1n });
    const { socketRef } = await seen.getServerSockets(shown.ref!.serverId);
    const { socket } = await seen.getSocket(socketRef[0]!.socketId);
    expect(streams(socket!.data!)).toEqual([5n, 5n, 0n]);
    expect(socket!.data!.messagesSent).toBe(1n);
  });
  client.destroy();
  compat.close();
});

test("[CZ-SOCKET-13] [CZ-SOCKET-14] shows the windows from the side of the sender, without those of streams", async () => {
  respond = (stream) => stream.respond(grpc);
  // The client grants each stream more than the connection as a whole.
  await new Promise<void>((resolve) => session.settings({ initialWindowSize: 100_000 }, () => resolve()));
  const stream = session.request({ ":method": "POST", ":path": "/a.B/C", ...grpc });
  stream.write(Buffer.alloc(20_000));
  await once(stream, "response");
  await eventually(async () => {
    const { client, server: accepted } = await look();
    // The server does not read the data, so the window is not replenished.
    expect(client.localFlowControlWindow).toBe(65_535n - 20_000n);
    expect(accepted.remoteFlowControlWindow).toBe(65_535n - 20_000n);
    expect(client.remoteFlowControlWindow).toBe(65_535n);
    expect(accepted.localFlowControlWindow).toBe(65_535n);
  });
});

test("shows matching addresses on both ends, and no remote address on the listen socket", async () => {
  await ended(call());
  const channel = (await registry.getTopChannels()).channel[0]!;
  const { subchannel } = await registry.getSubchannel(channel.subchannelRef[0]!.subchannelId);
  const client = (await registry.getSocket(subchannel!.socketRef[0]!.socketId)).socket!;
  const shown = (await registry.getServers()).server[0]!;
  const { socketRef } = await registry.getServerSockets(shown.ref!.serverId);
  const accepted = (await registry.getSocket(socketRef[0]!.socketId)).socket!;
  expect(client.local).toEqual(accepted.remote);
  expect(client.remote).toEqual(accepted.local);
  const listen = (await registry.getSocket(shown.listenSocket[0]!.socketId)).socket!;
  expect(listen.local).toEqual(accepted.local);
  expect(listen.remote).toBeUndefined();
});

test("leaves a handle alone that the application closed, and its server continues", async () => {
  const closing = createServer((_request, response) => response.end("hello"));
  const seen = createRegistry();
  const handle = observeHttp2Server(seen, closing);
  handle.close("seen enough");
  closing.listen(0, "127.0.0.1");
  await once(closing, "listening");
  const client = connect(`http://127.0.0.1:${(closing.address() as AddressInfo).port}`);
  const stream = client.request({ ":path": "/" });
  stream.resume();
  await once(stream, "close");
  expect(stream.rstCode).toBe(0);
  expect(seen.size).toMatchObject({ servers: 0, sockets: 0 });
  client.destroy();
  closing.close();
});

test("shows TRANSIENT_FAILURE with the cause in the trace if a connection fails", async () => {
  const lonely = createRegistry();
  const failing = connect("http://127.0.0.1:1");
  const failed = once(failing, "error").catch(() => {});
  failing.on("error", () => {});
  const channel = observeHttp2Session(lonely, failing, { target: "127.0.0.1:1" });
  expect(channel.state).toBe("CONNECTING");
  await failed;
  await eventually(() => expect(lonely.size.channels).toBe(0));
  const trace = (await lonely.getChannel(channel.id)).channel!.data!.trace!.events.map(
    ({ description }) => description,
  );
  expect(trace).toContainEqual(expect.stringMatching(/^CONNECTING -> TRANSIENT_FAILURE: .*ECONNREFUSED/));
});
