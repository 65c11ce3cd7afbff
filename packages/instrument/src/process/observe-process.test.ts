import { once } from "node:events";
import { Agent, createServer as createHttpServer, request, type ServerResponse } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import * as grpc from "@grpc/grpc-js";
import { connectChannelz, createRegistry, listenChannelz } from "@wirescope/channelz";
import { expect, onTestFinished, test } from "vitest";
import { observeGrpcJs } from "../grpc-js/observe-grpc-js.js";
import { observeHttpClients } from "../http/observe-clients.js";
import { listen, portOf } from "../sockets/connections.test.helper.js";
import { observeProcess } from "./observe-process.js";

const nothing = { channels: 0, subchannels: 0, servers: 0, sockets: 0 };

test("shows each object once if a registry is observed twice, or partly by hand, until the last has stopped", async () => {
  const registry = createRegistry();
  const parts = [
    observeHttpClients(registry),
    observeProcess(registry),
    observeProcess(registry),
    observeGrpcJs(registry, grpc),
  ];
  onTestFinished(() => {
    for (const part of parts) part.stop();
  });
  await listen(createHttpServer(), { host: "127.0.0.1", port: 0 });
  await listen(createHttp2Server(), { host: "127.0.0.1", port: 0 });
  const channel = new grpc.Channel("127.0.0.1:1", grpc.credentials.createInsecure(), {});
  onTestFinished(() => channel.close());
  expect(registry.size).toMatchObject({ channels: 1, servers: 2, sockets: 2 });
  parts[1]!.stop();
  parts[1]!.stop();
  expect(registry.size).toMatchObject({ channels: 1, servers: 2, sockets: 2 });
  parts[2]!.stop();
  expect(registry.size).toMatchObject({ channels: 1, servers: 0, sockets: 0 });
  parts[3]!.stop();
  expect(registry.size).toMatchObject(nothing);
});

test("rejects a second registry with advice, and leaves nothing in it", async () => {
  const clients = observeHttpClients(createRegistry());
  const registry = createRegistry();
  expect(() => observeProcess(registry)).toThrow(/^node:http clients are already observed in another registry\./);
  const server = createHttp2Server();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  expect(registry.size).toMatchObject(nothing);
  clients.stop();
  const observation = observeProcess(registry);
  expect(registry.size).toMatchObject({ servers: 1, sockets: 1 });
  observation.stop();
  expect(registry.size).toMatchObject(nothing);
  server.close();
});

test("[CZ-OP-11] shows a server, its connection and its call as they are at each read, from the start to the end", async () => {
  const registry = createRegistry();
  const observation = observeProcess(registry);
  onTestFinished(() => observation.stop());
  const listener = await listenChannelz(registry);
  const source = connectChannelz(listener.address);
  onTestFinished(async () => {
    await source.close();
    await listener.close({ deadlineMs: 0 });
  });
  /** Calls started, succeeded and failed, the number of connections, and the streams of the first. */
  const read = async (): Promise<unknown> => {
    const { server } = await source.getServers();
    const found = server.find(({ ref }) => ref?.name !== "channelz (wirescope)");
    if (found === undefined) return "no server";
    const { callsStarted, callsSucceeded, callsFailed } = found.data!;
    const { socketRef } = await source.getServerSockets(found.ref!.serverId);
    const socket = socketRef[0] && (await source.getSocket(socketRef[0].socketId)).socket;
    const streams = socket && [socket.data!.streamsStarted, socket.data!.streamsSucceeded].join();
    return [[callsStarted, callsSucceeded, callsFailed].join(), socketRef.length, streams];
  };

  expect(await read()).toBe("no server");
  const responses: ServerResponse[] = [];
  const server = createHttpServer((_request, response) => responses.push(response));
  await listen(server, { host: "127.0.0.1", port: 0 });
  expect(await read()).toEqual(["0,0,0", 0, undefined]);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const sent = request({ host: "127.0.0.1", port: portOf(server), agent }).end();
  await expect.poll(() => responses.length).toBe(1);
  expect(await read()).toEqual(["1,0,0", 1, "1,0"]);
  responses[0]!.end("hello");
  const [response] = await once(sent, "response");
  response.resume();
  await once(response, "end");
  await expect.poll(read).toEqual(["1,1,0", 1, "1,1"]);
  agent.destroy();
  await expect.poll(read).toEqual(["1,1,0", 0, undefined]);
  server.close();
  await expect.poll(read).toBe("no server");
});
