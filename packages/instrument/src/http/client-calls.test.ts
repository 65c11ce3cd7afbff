import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { listening, portOf } from "../sockets/connections.test.helper.js";
import { callsOf, eventually, stateOf, statesOf, streamsOf } from "./both-ends.test.helper.js";
import { channelsOf, ended, hello, keepAlive, sendRequest, subchannelsOf } from "./client-requests.test.helper.js";
import { observeHttpClients } from "./observe-clients.js";

let registry: Registry;

beforeEach(() => {
  registry = createRegistry();
  const observation = observeHttpClients(registry);
  onTestFinished(() => observation.stop());
});

describe("calls", () => {
  test("counts a call that waits for a connection as started, and on the connection once it is assigned", async () => {
    const waiting: (() => void)[] = [];
    const server = await listening(
      createServer((_request, response) => void waiting.push(() => response.end("hello"))),
    );
    const agent = keepAlive({ maxSockets: 1 });
    const requests = [0, 1].map(() => sendRequest({ host: "127.0.0.1", port: portOf(server), agent }));
    await eventually(() => expect(waiting).toHaveLength(1));
    const channel = (await channelsOf(registry))[0]!;
    expect(callsOf(channel)).toEqual([2, 0, 0]);
    expect(callsOf((await subchannelsOf(registry, channel))[0]!)).toEqual([1, 0, 0]);
    waiting[0]!();
    await eventually(() => expect(waiting).toHaveLength(2));
    waiting[1]!();
    await Promise.all(requests);
    const [subchannel] = await subchannelsOf(registry, channel);
    expect(callsOf(subchannel!)).toEqual([2, 2, 0]);
    expect(subchannel?.socketRef).toHaveLength(1);
  });

  test("counts a call as failed on a connection that the server has just closed, and as succeeded when retried", async () => {
    const server = await hello();
    const accepted: Socket[] = [];
    server.on("connection", (socket) => accepted.push(socket));
    const agent = keepAlive();
    const target = { host: "127.0.0.1", port: portOf(server), agent };
    await sendRequest(target);
    // The connection is about to close, but the agent does not know yet.
    accepted[0]!.resetAndDestroy();
    const retried = request(target);
    expect(await ended(retried)).toMatchObject({ code: "ECONNRESET" });
    expect(retried.reusedSocket).toBe(true);
    await sendRequest(target);
    const channel = (await channelsOf(registry))[0]!;
    expect(callsOf(channel)).toEqual([3, 2, 1]);
    expect(stateOf(channel)).toBe("READY");
    expect(statesOf(channel)).toEqual([
      "IDLE -> CONNECTING",
      "CONNECTING -> READY",
      expect.stringMatching(/^READY -> TRANSIENT_FAILURE: .*ECONNRESET/),
      "TRANSIENT_FAILURE -> CONNECTING",
      "CONNECTING -> READY",
    ]);
    expect(callsOf((await subchannelsOf(registry, channel))[0]!)).toEqual([3, 2, 1]);
  });

  test("counts a call that is aborted before it has a connection as failed, without a stream", async () => {
    const server = await hello();
    const error = await sendRequest({
      host: "127.0.0.1",
      port: portOf(server),
      agent: false,
      signal: AbortSignal.abort(),
    });
    expect(error).toMatchObject({ name: "AbortError" });
    const channel = (await channelsOf(registry))[0]!;
    expect(callsOf(channel)).toEqual([1, 0, 1]);
    await eventually(async () => expect(stateOf((await channelsOf(registry))[0]!)).toBe("IDLE"));
  });

  test("ends a call whose response is not read when the response has arrived", async () => {
    const server = await hello();
    const agent = keepAlive();
    const silent = request({ host: "127.0.0.1", port: portOf(server), agent });
    silent.end();
    await eventually(async () => expect(callsOf((await channelsOf(registry))[0]!)).toEqual([1, 1, 0]));
    const unread = request({ host: "127.0.0.1", port: portOf(server), agent });
    unread.end();
    await once(unread, "response");
    await eventually(async () => expect(callsOf((await channelsOf(registry))[0]!)).toEqual([2, 2, 0]));
  });

  test("ends a call whose response ends before its request when both are done", async () => {
    const server = await listening(createServer((_request, response) => response.writeHead(413).end("enough")));
    const clientRequest = request({ host: "127.0.0.1", port: portOf(server), method: "POST", agent: keepAlive() });
    clientRequest.write("half");
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    response.resume();
    await once(response, "end");
    expect(callsOf((await channelsOf(registry))[0]!)).toEqual([1, 0, 0]);
    clientRequest.end("the other half");
    await once(clientRequest, "close");
    const [subchannel] = await subchannelsOf(registry, (await channelsOf(registry))[0]!);
    expect(callsOf(subchannel!)).toEqual([1, 0, 1]);
    const { socket } = await registry.getSocket(subchannel!.socketRef[0]!.socketId);
    expect(streamsOf(socket!)).toEqual([1, 1, 0]);
    expect([socket?.data?.messagesSent, socket?.data?.messagesReceived]).toEqual([1n, 1n]);
  });

  test("keeps a CONNECT call in flight until its tunnel ends, and counts a refused one as failed", async () => {
    const server = await listening(createServer());
    server.on("connect", (incoming: IncomingMessage, socket: Socket) => {
      if (incoming.url === "refused:1") socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      else {
        socket.write("HTTP/1.1 200 Connected\r\n\r\n");
        socket.on("end", () => socket.end()).resume();
      }
    });
    const connectTo = async (path: string): Promise<Socket> => {
      const clientRequest = request({ host: "127.0.0.1", port: portOf(server), method: "CONNECT", path });
      clientRequest.end();
      const [, socket] = (await once(clientRequest, "connect")) as [IncomingMessage, Socket];
      return socket.resume();
    };
    const refused = await connectTo("refused:1");
    expect(callsOf((await channelsOf(registry))[0]!)).toEqual([1, 0, 1]);
    refused.destroy();
    const tunnel = await connectTo("allowed:1");
    expect(callsOf((await channelsOf(registry))[0]!)).toEqual([2, 0, 1]);
    tunnel.end();
    await once(tunnel, "close");
    expect(callsOf((await channelsOf(registry))[0]!)).toEqual([2, 1, 1]);
  });
});
