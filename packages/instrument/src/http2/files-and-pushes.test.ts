import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { allSucceeded, eventually, Probe } from "../http/both-ends.test.helper.js";
import { portOf } from "../sockets/connections.test.helper.js";
import { observeHttp2Session } from "./observe-client.js";
import { observeHttp2Server } from "./observe-server.js";

let folder: string;
const file = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "wirescope-"));
  writeFileSync(file("small"), "hello");
  writeFileSync(file("empty"), "");
  // More than the flow-control windows of a client that does not read.
  writeFileSync(file("large"), Buffer.alloc(1_000_000));
});

afterAll(() => rmSync(folder, { recursive: true }));

let registry: Registry;
let server: Http2Server;
let session: ClientHttp2Session;
let accepted: ServerHttp2Session;
let respond: (stream: ServerHttp2Stream) => void;

beforeEach(async () => {
  registry = createRegistry();
  server = createServer();
  observeHttp2Server(registry, server);
  server.on("session", (one) => {
    accepted = one;
    one.on("error", () => {});
  });
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    respond(stream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  session = connect(`http://127.0.0.1:${portOf(server)}`);
  session.on("error", () => {});
  observeHttp2Session(registry, session);
  onTestFinished(async () => {
    // Not destroyed: Node 20 crashes if a session is destroyed while it still reads the file of a stream that was reset.
    if (!session.destroyed) await new Promise<void>((resolve) => session.close(resolve));
    await new Promise((resolve) => server.close(resolve));
  });
});

function sendRequest(method = "GET"): ClientHttp2Stream {
  const stream = session.request({ ":path": "/", ":method": method });
  stream.on("error", () => {});
  return stream;
}

async function over(stream: ClientHttp2Stream): Promise<void> {
  if (!stream.destroyed) await new Promise((resolve) => stream.once("close", resolve));
}

describe("[CZ-D-MSG-1] a response that is a file", () => {
  test.each([
    ["small", 1],
    ["large", 1],
    ["empty", 0],
  ] as const)(
    "[CZ-SOCKET-6] [CZ-SOCKET-8] counts a %s file as one message, sent by path and by descriptor",
    async (name, messages) => {
      const fd = openSync(file(name), "r");
      onTestFinished(() => closeSync(fd));
      const ways = [
        (stream: ServerHttp2Stream) => stream.respondWithFile(file(name), { "content-type": "text/plain" }),
        (stream: ServerHttp2Stream) => stream.respondWithFD(fd, { "content-type": "text/plain" }),
      ];
      respond = (stream) => ways.shift()!(stream);
      for (const _ of [1, 2]) await over(sendRequest().resume());
      await (await Probe.of(registry)).expect(allSucceeded(2, 0, 2 * messages));
    },
  );

  test("[CZ-SOCKET-6] counts a file that is sent with trailers", async () => {
    respond = (stream) => {
      stream.respondWithFile(file("small"), {}, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-end": "1" }));
    };
    await over(sendRequest().resume());
    await (await Probe.of(registry)).expect(allSucceeded(1, 0, 1));
  });

  test("[CZ-SOCKET-6] counts a file that was sent completely before the client, still sending, disconnects", async () => {
    respond = (stream) => stream.respondWithFile(file("large"));
    const stream = sendRequest("POST").resume();
    await once(stream, "end");
    stream.close(constants.NGHTTP2_CANCEL);
    await over(stream);
    const probe = await Probe.of(registry);
    await probe.expect({
      serverStreams: [1, 1, 0],
      clientStreams: [1, 1, 0],
      responseMessages: [1, 1],
      serverCalls: [1, 1, 0],
    });
  });

  const cuts: readonly (readonly [string, (stream: ClientHttp2Stream, responding: ServerHttp2Stream) => void])[] = [
    ["is cancelled by the client", (stream) => stream.close(constants.NGHTTP2_CANCEL)],
    ["is reset by the client without an error", (stream) => stream.close(constants.NGHTTP2_NO_ERROR)],
    // With an error, because Node 20 crashes without one.
    ["is reset by the server", (_, responding) => responding.close(constants.NGHTTP2_INTERNAL_ERROR)],
    ["is destroyed by the server", (_, responding) => responding.destroy()],
    ["loses its connection", () => session.destroy()],
    ["loses its session", () => accepted.destroy()],
  ];
  test.each(cuts)(
    "[CZ-SOCKET-7] counts a file response that %s half-way as failed, and as no message",
    async (_, cut) => {
      let responding: ServerHttp2Stream | undefined;
      respond = (stream) => {
        responding = stream;
        stream.respondWithFile(file("large"));
      };
      const stream = sendRequest();
      await once(stream, "response");
      // Until the window is used up: Node crashes if the stream is destroyed while its file is read.
      await eventually(() => expect(stream.state.localWindowSize).toBe(0));
      const probe = await Probe.of(registry);
      await probe.expect({ serverStreams: [1, 0, 0] });
      cut(stream, responding!);
      stream.resume();
      await over(stream);
      await probe.expect({ serverStreams: [1, 0, 1], serverCalls: [1, 0, 1], responseMessages: [0, 0] });
    },
  );

  test("[CZ-SOCKET-7] counts a reset stream for a missing file, or the response that the server sends instead", async () => {
    const ways = [
      (stream: ServerHttp2Stream) => stream.respondWithFile(file("missing")),
      (stream: ServerHttp2Stream) =>
        stream.respondWithFile(
          file("missing"),
          {},
          {
            onError: () => {
              stream.respond({ ":status": 404 });
              stream.end("no such file");
            },
          },
        ),
    ];
    respond = (stream) => ways.shift()!(stream);
    for (const _ of [1, 2]) await over(sendRequest().resume());
    const probe = await Probe.of(registry);
    await probe.expect({ serverStreams: [2, 1, 1], serverCalls: [2, 0, 2], responseMessages: [1, 1] });
  });
});

describe("[CZ-D-PUSH-1] streams that the server pushes", () => {
  /** Pushes a stream in addition to its response, and leaves the rest to the test. */
  function pushing(then: (pushed: ServerHttp2Stream) => void): void {
    respond = (stream) => {
      stream.pushStream({ ":path": "/pushed" }, (error, pushed) => {
        if (error) throw error;
        pushed.on("error", () => {});
        then(pushed);
      });
      stream.respond();
      stream.end("hello");
    };
  }

  test("[CZ-SOCKET-5] [CZ-SOCKET-10] [CZ-SOCKET-11] counts a pushed stream as started by the server on both ends, and as no call", async () => {
    pushing((pushed) => {
      pushed.respond({ "content-type": "text/plain" });
      pushed.end("extra");
    });
    session.on("stream", (pushed) => void pushed.resume());
    await over(sendRequest().resume());
    const probe = await Probe.of(registry);
    await probe.expect({
      serverStreams: [2, 2, 0],
      clientStreams: [2, 2, 0],
      serverCalls: [1, 1, 0],
      channelCalls: [1, 1, 0],
      responseMessages: [2, 2],
    });
    const { client, accepted: serving } = await probe.objects();
    expect(client.data?.lastRemoteStreamCreatedTimestamp).toBeDefined();
    expect(serving.data?.lastLocalStreamCreatedTimestamp).toBeDefined();
  });

  test("[CZ-SOCKET-6] [CZ-SOCKET-8] [CZ-D-MSG-1] counts a pushed file as a message", async () => {
    pushing((pushed) => pushed.respondWithFile(file("large")));
    session.on("stream", (pushed) => void pushed.resume());
    await over(sendRequest().resume());
    await (await Probe.of(registry)).expect({
      serverStreams: [2, 2, 0],
      clientStreams: [2, 2, 0],
      responseMessages: [2, 2],
    });
  });

  test("[CZ-SOCKET-7] counts a pushed stream that the client refuses as failed", async () => {
    pushing((pushed) => {
      pushed.respond();
      pushed.write("never enough");
    });
    session.on("stream", (pushed) => {
      pushed.on("error", () => {});
      pushed.close(constants.NGHTTP2_REFUSED_STREAM);
    });
    await over(sendRequest().resume());
    await (await Probe.of(registry)).expect({
      serverStreams: [2, 1, 1],
      clientStreams: [2, 1, 1],
      serverCalls: [1, 1, 0],
      responseMessages: [1, 1],
    });
  });

  test("pushes through Node's response objects, and reports errors as before", async () => {
    const compat = createServer((_request, response) => {
      response.createPushResponse({ ":path": "/pushed" }, (error, pushed) => {
        if (error) throw error;
        pushed.end("extra");
        response.end("hello");
      });
    });
    const seen = createRegistry();
    observeHttp2Server(seen, compat);
    compat.listen(0, "127.0.0.1");
    await once(compat, "listening");
    const client = connect(`http://127.0.0.1:${portOf(compat)}`);
    client.on("stream", (pushed) => void pushed.resume());
    await over(client.request({ ":path": "/" }).resume());
    await eventually(async () => {
      const { server: shown } = await seen.getServers();
      const { socketRef } = await seen.getServerSockets(shown[0]!.ref!.serverId);
      const { data } = (await seen.getSocket(socketRef[0]!.socketId)).socket!;
      expect([data?.streamsStarted, data?.streamsSucceeded, data?.messagesSent]).toEqual([2n, 2n, 2n]);
      expect(shown[0]?.data?.callsStarted).toBe(1n);
    });
    client.destroy();
    compat.close();
    let refusal: unknown;
    respond = (stream) => {
      try {
        // Without a callback.
        stream.pushStream({ ":path": "/pushed" }, undefined as never);
      } catch (error) {
        refusal = error;
      }
      stream.respond({}, { endStream: true });
    };
    await over(sendRequest().resume());
    expect(refusal).toMatchObject({ code: "ERR_INVALID_ARG_TYPE" });
  });
});
