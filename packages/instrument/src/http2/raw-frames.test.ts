import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type Http2Server,
  type ServerHttp2Stream,
} from "node:http2";
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from "node:net";
import { createRegistry, type Registry, type SocketData } from "@wirescope/channelz";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { eventually } from "../http/both-ends.test.helper.js";
import { closeAfterTest, listening, portOf } from "../sockets/connections.test.helper.js";
import { observeHttp2Session } from "./observe-client.js";
import { observeHttp2Server } from "./observe-server.js";
import {
  clientPreface,
  endHeaders,
  endStream,
  errorCode,
  frameOf,
  frameTypes,
  type RawPeer,
  rawClient,
  rawServer,
  requestHeaders,
  responseHeaders,
} from "./raw-peer.test.helper.js";

function streams(data: SocketData): bigint[] {
  return [data.streamsStarted, data.streamsSucceeded, data.streamsFailed];
}

describe("a client of a server that writes frames by hand", () => {
  let registry: Registry;
  let session: ClientHttp2Session;
  let peer: RawPeer;
  let socketId: bigint;
  let channelId: bigint;
  let close: () => void;

  beforeEach(async () => {
    registry = createRegistry();
    const server = await rawServer();
    close = server.close;
    session = connect(`http://127.0.0.1:${server.port}`);
    session.on("error", () => {});
    const channel = observeHttp2Session(registry, session, { target: `127.0.0.1:${server.port}` });
    channelId = BigInt(channel.id);
    peer = await server.peer;
    socketId = await eventually(async () => {
      const { channel: shown } = await registry.getChannel(channelId);
      const { subchannel } = await registry.getSubchannel(shown!.subchannelRef[0]!.subchannelId);
      return subchannel!.socketRef[0]!.socketId;
    });
  });

  afterEach(() => {
    session.destroy();
    close();
  });

  function call(): ClientHttp2Stream {
    const stream = session.request({ ":path": "/", "content-type": "application/grpc" });
    stream.on("error", () => {});
    stream.resume();
    return stream;
  }

  async function expectStreams(...expected: bigint[]): Promise<void> {
    await eventually(async () => expect(streams((await registry.getSocket(socketId)).socket!.data!)).toEqual(expected));
  }

  async function traceOfChannel(): Promise<string> {
    const { channel } = await registry.getChannel(channelId);
    return channel!.data!.trace!.events.map(({ description }) => description).join("\n");
  }

  async function expectLoss(cause: RegExp): Promise<void> {
    const lost = new RegExp(`^READY -> TRANSIENT_FAILURE: ${cause.source}$`, "m");
    await eventually(async () => expect(await traceOfChannel()).toMatch(lost));
    const { channel } = await registry.getChannel(channelId);
    expect(channel!.data!.callsFailed).toBe(channel!.data!.callsStarted);
  }

  test.each([0, 2, 7, 8, 11])(
    "[CZ-SOCKET-7] counts RST_STREAM with code %i before the end as a failed stream",
    async (code) => {
      call();
      await peer.frame(({ type }) => type === frameTypes.headers);
      peer.write(frameTypes.headers, endHeaders, 1, responseHeaders);
      peer.write(frameTypes.data, 0, 1, Buffer.from("half"));
      peer.write(frameTypes.rstStream, 0, 1, errorCode(code));
      await expectStreams(1n, 0n, 1n);
    },
  );

  test("[CZ-SOCKET-6] recognizes the end-of-stream flag on headers, on data and on an empty frame", async () => {
    for (const id of [1, 3, 5]) {
      call();
      await peer.frame(({ type, streamId }) => type === frameTypes.headers && streamId === id);
      if (id === 1) {
        peer.write(frameTypes.headers, endHeaders | endStream, id, responseHeaders);
      } else {
        peer.write(frameTypes.headers, endHeaders, id, responseHeaders);
        peer.write(frameTypes.data, endStream, id, id === 3 ? Buffer.from("whole") : Buffer.alloc(0));
      }
    }
    await expectStreams(3n, 3n, 0n);
  });

  test("[CZ-SOCKET-6] keeps a stream succeeded if RST_STREAM arrives after its end", async () => {
    const stream = session.request({ ":method": "POST", ":path": "/" });
    stream.on("error", () => {});
    stream.resume();
    await peer.frame(({ type }) => type === frameTypes.headers);
    peer.write(frameTypes.headers, endHeaders | endStream, 1, responseHeaders);
    await once(stream, "end");
    peer.write(frameTypes.rstStream, 0, 1, errorCode(0));
    await once(stream, "close");
    await expectStreams(1n, 1n, 0n);
  });

  test("[CZ-SOCKET-7] counts calls in flight as failed on a connection reset, and traces the loss", async () => {
    call();
    call();
    await peer.frame(({ type, streamId }) => type === frameTypes.headers && streamId === 3);
    // If the client happens to write at this moment, that write takes the error from the socket, and Node drops it.
    peer.cut();
    await expectStreams(2n, 0n, 2n);
    await expectLoss(/(?:read ECONNRESET|closed with calls in flight)/);
  });

  test("[CZ-SOCKET-7] traces a connection reset as a loss if calls are in flight, although Node reports an orderly end", async () => {
    call();
    call();
    await peer.frame(({ type, streamId }) => type === frameTypes.headers && streamId === 3);
    // The client's reply fails with ECONNRESET, which Node drops; the next read is then an end of file.
    peer.write(frameTypes.ping, 0, 0, Buffer.alloc(8));
    peer.cut();
    await expectStreams(2n, 0n, 2n);
    await expectLoss(/closed with calls in flight/);
  });

  test("[CZ-SOCKET-7] traces the end of a connection without GOAWAY as a loss if calls are in flight", async () => {
    call();
    await peer.frame(({ type }) => type === frameTypes.headers);
    peer.end();
    await expectStreams(1n, 0n, 1n);
    await expectLoss(/closed with calls in flight/);
  });

  test.each([
    ["the server ends a connection without calls", () => peer.end()],
    ["the client destroys a session with a call in flight", () => call().session!.destroy()],
  ])("shows no failure when %s", async (_what, end) => {
    end();
    await eventually(() => expect(registry.size.channels).toBe(0));
    const trace = await traceOfChannel();
    expect(trace).toContain("READY -> IDLE");
    expect(trace).not.toContain("TRANSIENT_FAILURE");
  });

  test("[CZ-SOCKET-7] counts the streams that GOAWAY leaves out as failed, and traces its code", async () => {
    call();
    await peer.frame(({ type }) => type === frameTypes.headers);
    const { channel } = await registry.getChannel(channelId);
    const { subchannelId } = channel!.subchannelRef[0]!;
    peer.write(frameTypes.goaway, 0, 0, Buffer.concat([errorCode(0), errorCode(11)]));
    await expectStreams(1n, 0n, 1n);
    await eventually(async () => {
      const { subchannel } = await registry.getSubchannel(subchannelId);
      const descriptions = subchannel!.data!.trace!.events.map(({ description }) => description);
      expect(descriptions).toContain("GOAWAY with ENHANCE_YOUR_CALM");
    });
  });

  test("reports many resets once, and then with their number", async () => {
    const { channel } = await registry.getChannel(channelId);
    const { subchannelId } = channel!.subchannelRef[0]!;
    for (let i = 0; i < 40; i += 1) call();
    await peer.frame(({ type, streamId }) => type === frameTypes.headers && streamId === 79);
    for (let i = 0; i < 40; i += 1) peer.write(frameTypes.rstStream, 0, 2 * i + 1, errorCode(7));
    await expectStreams(40n, 0n, 40n);
    await vi.waitFor(
      async () => {
        const { subchannel } = await registry.getSubchannel(subchannelId);
        const descriptions = subchannel!.data!.trace!.events.map(({ description }) => description);
        expect(descriptions.filter((text) => text.includes("reset"))).toEqual([
          "Stream reset: REFUSED_STREAM",
          "Stream reset, 39 more within a second: REFUSED_STREAM",
        ]);
      },
      { timeout: 60_000 },
    );
  });

  test("counts messages across frames of a single byte", async () => {
    call();
    await peer.frame(({ type }) => type === frameTypes.headers);
    // The static table has content-type at 31; the value is literal.
    const contentType = "application/grpc";
    const grpcHeaders = Buffer.concat([
      responseHeaders,
      Buffer.from([0x0f, 0x10, contentType.length]),
      Buffer.from(contentType),
    ]);
    peer.write(frameTypes.headers, endHeaders, 1, grpcHeaders);
    for (const byte of [0, 0, 0, 0, 2, 7, 7, 0, 0, 0, 0, 0]) peer.write(frameTypes.data, 0, 1, Buffer.of(byte));
    await eventually(async () => {
      expect((await registry.getSocket(socketId)).socket!.data!.messagesReceived).toBe(2n);
    });
  });
});

describe("a server of a client that writes frames by hand", () => {
  let registry: Registry;
  let server: Http2Server;
  let peer: RawPeer;
  let respond: (stream: ServerHttp2Stream) => void;

  beforeEach(async () => {
    registry = createRegistry();
    server = createServer();
    observeHttp2Server(registry, server);
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      respond(stream);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    peer = await rawClient((server.address() as AddressInfo).port);
  });

  afterEach(async () => {
    peer.cut();
    await new Promise((resolve) => server.close(resolve));
  });

  async function socketId(): Promise<bigint> {
    return eventually(async () => {
      const { serverId } = (await registry.getServers()).server[0]!.ref!;
      return (await registry.getServerSockets(serverId)).socketRef[0]!.socketId;
    });
  }

  async function expectStreams(id: bigint, ...expected: bigint[]): Promise<void> {
    await eventually(async () => expect(streams((await registry.getSocket(id)).socket!.data!)).toEqual(expected));
  }

  test("[CZ-SOCKET-7] counts RST_STREAM from the client before the end of the response as a failed stream", async () => {
    respond = (stream) => {
      stream.respond();
      stream.write("half");
    };
    peer.write(frameTypes.headers, endHeaders | endStream, 1, requestHeaders);
    const id = await socketId();
    await peer.frame(({ type }) => type === frameTypes.data);
    peer.write(frameTypes.rstStream, 0, 1, errorCode(8));
    await expectStreams(id, 1n, 0n, 1n);
  });

  test("[CZ-SOCKET-6] counts a response that ended before the request as succeeded, reset or not", async () => {
    respond = (stream) => {
      stream.respond();
      stream.end("early");
    };
    peer.write(frameTypes.headers, endHeaders, 1, requestHeaders);
    const id = await socketId();
    await peer.frame(({ type, flags }) => type === frameTypes.data && (flags & endStream) !== 0);
    peer.write(frameTypes.rstStream, 0, 1, errorCode(8));
    await expectStreams(id, 1n, 1n, 0n);
  });

  test("[CZ-SOCKET-7] counts what was in flight as failed when a client vanishes", async () => {
    respond = (stream) => stream.respond();
    for (const streamId of [1, 3, 5]) peer.write(frameTypes.headers, endHeaders | endStream, streamId, requestHeaders);
    const id = await socketId();
    await peer.frame(({ type, streamId }) => type === frameTypes.headers && streamId === 5);
    peer.cut();
    await expectStreams(id, 3n, 0n, 3n);
    await eventually(() => expect(registry.size.sockets).toBe(1));
  });

  test("[CZ-SOCKET-7] counts a response that waits for a window when the client resets as failed, and its message as not sent", async () => {
    respond = (stream) => {
      stream.respond({ "content-type": "application/grpc" });
      const message = Buffer.alloc(5 + 200_000);
      message.writeUInt32BE(200_000, 1);
      stream.end(message);
    };
    peer.write(frameTypes.headers, endHeaders | endStream, 1, requestHeaders);
    const id = await socketId();
    await peer.frame(({ type }) => type === frameTypes.data);
    peer.write(frameTypes.rstStream, 0, 1, errorCode(8));
    await expectStreams(id, 1n, 0n, 1n);
    expect((await registry.getSocket(id)).socket!.data!.messagesSent).toBe(0n);
  });

  test.each([
    ["application/grpc", [0, 0, 0, 0, 2, 7, 7], 1n],
    ["text/plain", [7, 7], 1n],
    ["application/grpc", [0, 0, 0, 0, 1, 7, 0, 0, 0, 0, 0], 2n],
  ])(
    "[CZ-SOCKET-8] counts messages of %s that arrived before the socket was handed to the server: %j",
    async (type, body, messages) => {
      respond = (stream) => {
        stream.respond();
        stream.end();
      };
      const contentType = Buffer.concat([Buffer.from([0x0f, 0x10, type.length]), Buffer.from(type)]);
      const headers = Buffer.concat([requestHeaders, contentType]);
      const frames = [clientPreface, frameOf(frameTypes.settings, 0, 0)];
      for (let id = 1; id < 40; id += 2) {
        frames.push(frameOf(frameTypes.headers, endHeaders, id, headers));
        frames.push(frameOf(frameTypes.data, endStream, id, Buffer.from(body)));
      }
      const bytes = Buffer.concat(frames);
      const multiplexer = await listening(
        createTcpServer((socket) => {
          socket.on("readable", function look() {
            if (socket.readableLength < bytes.length) return;
            socket.off("readable", look);
            server.emit("connection", socket);
          });
        }),
      );
      peer.cut();
      const before = await socketId();
      const socket = connectTcp(portOf(multiplexer), "127.0.0.1");
      closeAfterTest(socket);
      socket.write(bytes);
      const id = await eventually(async () => {
        const found = await socketId();
        expect(found).not.toBe(before);
        return found;
      });
      await expectStreams(id, 20n, 20n, 0n);
      expect((await registry.getSocket(id)).socket!.data!.messagesReceived).toBe(20n * messages);
    },
  );
});
