import { once } from "node:events";
import { createServer as createHttpServer, get, type IncomingMessage } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { allSucceeded, eventually, type Outcomes, Probe } from "../http/both-ends.test.helper.js";
import { observeHttpClients } from "../http/observe-clients.js";
import { observeHttpServer } from "../http/observe-server.js";
import { observeHttp2Session } from "../http2/observe-client.js";
import { observeHttp2Module } from "../http2/observe-module.js";
import { observeHttp2Server } from "../http2/observe-server.js";
import { portOf } from "../sockets/connections.test.helper.js";
import { Echo, type EchoServer, serveEcho } from "./echo.test.helper.js";

/** A session manager whose sessions end with the test. */
function sessionsTo(baseUrl: string): Http2SessionManager {
  const manager = new Http2SessionManager(baseUrl);
  onTestFinished(() => manager.abort());
  return manager;
}

async function codeOf(call: Promise<unknown>): Promise<Code | undefined> {
  return call.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );
}

const [succeeded, failed]: Outcomes[] = [
  [1, 1, 0],
  [1, 0, 1],
];

// Transports are not observed here, so that messages are counted from HTTP alone.
describe.each(["1.1", "2"] as const)("Connect messages over HTTP/%s", (httpVersion) => {
  let registry: Registry;
  let server: EchoServer;

  beforeEach(async () => {
    registry = createRegistry();
    server = await serveEcho({ httpVersion, registry });
    const stops = [observeHttp2Module(registry), observeHttpClients(registry).stop];
    onTestFinished(() => {
      for (const stop of stops) stop();
    });
  });

  function client(useBinaryFormat: boolean, useHttpGet = false): Client<typeof Echo> {
    const { baseUrl } = server;
    const options = { baseUrl, useBinaryFormat, useHttpGet };
    return createClient(
      Echo,
      httpVersion === "2"
        ? createConnectTransport({ ...options, httpVersion, sessionManager: sessionsTo(baseUrl) })
        : createConnectTransport({ ...options, httpVersion }),
    );
  }

  for (const useBinaryFormat of [true, false]) {
    const format = useBinaryFormat ? "in binary" : "in JSON";

    test(`[CZ-SOCKET-8] ${format}: counts a request and its response, even if both are empty`, async () => {
      await client(useBinaryFormat).unary({ value: "" });
      await (await Probe.of(registry)).expect(allSucceeded(1, 1, 1));
    });

    test(`[CZ-SOCKET-8] ${format}: does not count the body of an error as a message`, async () => {
      expect(await codeOf(client(useBinaryFormat).unary({ value: "fail" }))).toBe(Code.FailedPrecondition);
      await (await Probe.of(registry)).expect({
        channelCalls: failed!,
        serverCalls: failed!,
        clientStreams: succeeded!,
        serverStreams: succeeded!,
        requestMessages: [1, 1],
        responseMessages: [0, 0],
      });
    });

    test(`[CZ-SOCKET-8] ${format}: counts a request in the path of a GET as a message`, async () => {
      const methods: string[] = [];
      server.server.on("request", ({ method }: IncomingMessage) => void methods.push(method!));
      const getting = client(useBinaryFormat, true);
      await getting.look({ value: "hello" });
      expect(await codeOf(getting.look({ value: "fail" }))).toBe(Code.FailedPrecondition);
      expect(methods).toEqual(["GET", "GET"]);
      await (await Probe.of(registry)).expect({
        channelCalls: [2, 1, 1],
        serverCalls: [2, 1, 1],
        requestMessages: [2, 2],
        responseMessages: [1, 1],
      });
    });
  }
});

describe("an HTML page in place of a response", () => {
  const page = { "content-type": "text/html" };

  test.each(["grpc", "grpc-web", "connect"] as const)(
    "counts an HTML page as no message of %s, and the call as failed",
    async (protocol) => {
      const registry = createRegistry();
      const server = createHttp2Server((_request, response) => void response.writeHead(200, page).end("<p>Sign in"));
      observeHttp2Server(registry, server);
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      onTestFinished(observeHttp2Module(registry));
      const create = { grpc: createGrpcTransport, "grpc-web": createGrpcWebTransport, connect: createConnectTransport };
      const baseUrl = `http://127.0.0.1:${portOf(server)}`;
      const transport = create[protocol]({ baseUrl, httpVersion: "2", sessionManager: sessionsTo(baseUrl) });
      expect(await codeOf(createClient(Echo, transport).unary({ value: "hello" }))).not.toBeUndefined();
      const probe = await eventually(() => Probe.of(registry));
      await probe.expect({
        channelCalls: failed!,
        serverCalls: failed!,
        requestMessages: [1, 1],
        responseMessages: [0, 0],
      });
      server.close();
    },
  );

  test("counts an HTML page as a message of plain HTTP, whatever its status", async () => {
    const registry = createRegistry();
    const server = createHttpServer((_request, response) => void response.writeHead(503, page).end("<p>Come again"));
    observeHttpServer(registry, server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const clients = observeHttpClients(registry);
    onTestFinished(() => clients.stop());
    const [response] = (await once(get({ port: portOf(server), host: "127.0.0.1" }), "response")) as [IncomingMessage];
    response.resume();
    await (await Probe.of(registry)).expect({
      channelCalls: failed!,
      serverCalls: failed!,
      requestMessages: [0, 0],
      responseMessages: [1, 1],
    });
    server.closeAllConnections();
    server.close();
  });
});

test("counts a GET that only resembles one of Connect as plain HTTP", async () => {
  const registry = createRegistry();
  const server = createHttp2Server((_request, response) => void response.end("hello"));
  observeHttp2Server(registry, server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = connect(`http://127.0.0.1:${portOf(server)}`);
  observeHttp2Session(registry, session);
  const stream = session.request({ ":path": "/?reconnect=v1&connect=v12" });
  stream.resume();
  await once(stream, "close");
  await (await Probe.of(registry)).expect(allSucceeded(1, 0, 1));
  session.destroy();
  server.close();
});
