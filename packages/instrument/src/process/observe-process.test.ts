import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import * as grpc from "@grpc/grpc-js";
import { createRegistry } from "@wirescope/channelz";
import { expect, onTestFinished, test } from "vitest";
import { observeGrpcJs } from "../grpc-js/observe-grpc-js.js";
import { observeHttpClients } from "../http/observe-clients.js";
import { listen } from "../sockets/connections.test.helper.js";
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
