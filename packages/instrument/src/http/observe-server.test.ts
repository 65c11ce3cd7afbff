import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, ServerResponse } from "node:http";
import { createSecureServer, type Http2SecureServer, connect as http2Connect } from "node:http2";
import { createServer as createHttpsServer, Server as HttpsServer, request as httpsRequest } from "node:https";
import { connect, createServer as createNetServer, type Server as NetServer, type Socket } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { observeHttp2Server } from "../http2/observe-server.js";
import { stopObserving } from "../observation.js";
import { certificate, listening, portOf, serverIdentity, unixPath } from "../sockets/connections.test.helper.js";
import { callsOf, eventually, streamsOf, traceOf } from "./both-ends.test.helper.js";
import { observeHttpServer } from "./observe-server.js";

let registry: Registry;

beforeEach(() => {
  registry = createRegistry();
});

/** Sends bytes to a server, and reads until the response contains a string. */
async function speak(server: NetServer, bytes: string, until: RegExp): Promise<Socket> {
  const socket = connect(portOf(server), "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  let heard = "";
  const done = new Promise<void>((resolve) => {
    socket.on("data", (chunk) => {
      heard += chunk;
      if (until.test(heard)) resolve();
    });
    socket.on("close", () => resolve());
  });
  socket.write(bytes);
  await done;
  expect(heard).toMatch(until);
  return socket;
}

test("a server of another kind is rejected, and nothing is shown", async () => {
  const [http1, https] = [createServer(), createHttpsServer()];
  const [http2, net] = [createSecureServer(), createNetServer()];
  for (const other of [http2, net, () => {}]) {
    expect(() => observeHttpServer(registry, other as never)).toThrow(
      /no server of node:http or node:https.*observeHttp2Server/,
    );
  }
  for (const other of [http1, https, () => {}]) {
    expect(() => observeHttp2Server(registry, other as never)).toThrow(/no server of node:http2.*observeHttpServer/);
  }
  expect((await registry.getServers()).server).toEqual([]);
});

async function shown(): Promise<{ calls: unknown; streams: unknown[]; trace: string[] }> {
  const server = (await registry.getServers()).server[0]!;
  const { socketRef } = await registry.getServerSockets(server.ref!.serverId);
  const sockets = await Promise.all(socketRef.map(({ socketId }) => registry.getSocket(socketId)));
  return {
    calls: callsOf(server),
    streams: sockets.map(({ socket }) => streamsOf(socket!)),
    trace: traceOf(server),
  };
}

async function expectShown(expected: Partial<Awaited<ReturnType<typeof shown>>>): Promise<void> {
  await eventually(async () => expect(await shown()).toMatchObject(expected));
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`;

describe("requests", () => {
  test("[CZ-SOCKET-6] counts each pipelined request as a stream, and sends the responses in order", async () => {
    const responses: ServerResponse[] = [];
    const server = await listening(createServer((_request, response) => void responses.push(response)));
    observeHttpServer(registry, server);
    const spoken = speak(server, get("/1") + get("/2") + get("/3"), /third/);
    await eventually(() => expect(responses).toHaveLength(3));
    await expectShown({ calls: [3, 0, 0], streams: [[3, 0, 0]] });
    responses[1]!.end("second");
    responses[0]!.end("first");
    await expectShown({ calls: [3, 2, 0], streams: [[3, 2, 0]] });
    responses[2]!.end("third");
    await expectShown({ calls: [3, 3, 0], streams: [[3, 3, 0]] });
    await spoken;
  });

  test("[CZ-SOCKET-7] counts requests as failed when their connection fails, including queued ones", async () => {
    const responses: ServerResponse[] = [];
    const server = await listening(createServer((_request, response) => void responses.push(response)));
    observeHttpServer(registry, server);
    const socket = connect(portOf(server), "127.0.0.1");
    socket.write(get("/1") + get("/2"));
    await eventually(() => expect(responses).toHaveLength(2));
    responses[1]!.end("never sent");
    const id = (await registry.getServerSockets((await registry.getServers()).server[0]!.ref!.serverId)).socketRef[0]!;
    socket.destroy();
    await expectShown({ calls: [2, 0, 2], streams: [] });
    expect(streamsOf((await registry.getSocket(id.socketId)).socket!)).toEqual([2, 0, 2]);
  });

  test("counts requests that Node itself rejects", async () => {
    const server = await listening(createServer(() => {}));
    observeHttpServer(registry, server);
    await speak(server, "GET / HTTP/1.1\r\n\r\n", /400 Bad Request/);
    await expectShown({ calls: [1, 0, 1] });
  });

  test("counts a request that expects 100-continue as one call", async () => {
    const server = await listening(createServer((incoming, response) => incoming.pipe(response)));
    observeHttpServer(registry, server);
    const clientRequest = request({ port: portOf(server), method: "POST", headers: { expect: "100-continue" } });
    clientRequest.flushHeaders();
    await once(clientRequest, "continue");
    clientRequest.end("echo");
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    expect(String((await once(response, "data"))[0])).toBe("echo");
    await expectShown({ calls: [1, 1, 0] });
  });

  test("counts bytes that are not HTTP as no call, and traces them", async () => {
    const server = await listening(createServer(() => {}));
    observeHttpServer(registry, server);
    await speak(server, "GARBAGE\r\n\r\n", /400 Bad Request/);
    await expectShown({
      calls: [0, 0, 0],
      streams: [],
      trace: expect.arrayContaining(["Connection lost: HPE_INVALID_METHOD"]),
    });
  });

  test("keeps the stream of a CONNECT request open until the tunnel ends", async () => {
    const server = await listening(createServer());
    server.on("connect", (_request, socket: Socket) => {
      socket.write("HTTP/1.1 200 Connected\r\n\r\n");
      socket.on("end", () => socket.end());
      socket.resume();
    });
    observeHttpServer(registry, server);
    const socket = await speak(server, "CONNECT elsewhere:80 HTTP/1.1\r\nHost: elsewhere:80\r\n\r\n", /200 Connected/);
    await expectShown({ calls: [1, 0, 0], streams: [[1, 0, 0]] });
    socket.end();
    await expectShown({ calls: [1, 1, 0], streams: [] });
  });
});

describe("a WebSocket server", () => {
  /** Opens a WebSocket at a path; `/no` is refused, and `/bye` is closed by the server. */
  async function open(path: string): Promise<WebSocket> {
    const server = createServer();
    const sockets = new WebSocketServer({
      server,
      verifyClient: ({ req }: { req: IncomingMessage }) => req.url !== "/no",
    });
    sockets.on("connection", (socket, { url }) => void (url === "/bye" && socket.close()));
    await listening(server);
    observeHttpServer(registry, server);
    const client = new WebSocket(`ws://127.0.0.1:${portOf(server)}${path}`);
    onTestFinished(() => {
      client.terminate();
      sockets.close();
    });
    return client;
  }

  test("[CZ-SERVER-3] counts a refused upgrade as a failed call", async () => {
    const client = await open("/no");
    const [error] = await once(client, "error");
    expect(error).toMatchObject({ message: "Unexpected server response: 401" });
    await expectShown({ calls: [1, 0, 1], streams: [] });
  });

  test("[CZ-SERVER-3] counts a client that is terminated without a close frame as a failed call", async () => {
    const client = await open("/");
    await once(client, "open");
    await expectShown({ calls: [1, 0, 0] });
    client.terminate();
    await expectShown({ calls: [1, 0, 1], streams: [] });
  });

  test.each(["client", "server"])("counts a WebSocket that the %s closes as a call that succeeded", async (side) => {
    const client = await open(side === "server" ? "/bye" : "/");
    await once(client, "open");
    if (side === "client") client.close();
    await once(client, "close");
    await expectShown({ calls: [1, 1, 0], streams: [] });
  });

  test("leaves no method of ours on the socket of an upgrade once the response is written", async () => {
    const server = await listening(createServer());
    const upgraded = once(server, "upgrade");
    observeHttpServer(registry, server);
    const request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
    const spoken = speak(server, request, /101 Switching/);
    const [, socket] = (await upgraded) as [IncomingMessage, Socket];
    socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    expect(["write", "end"].filter((method) => Object.hasOwn(socket, method))).toEqual([]);
    (await spoken).destroy();
  });
});

test.each(["https", "HTTP/2"])("traces why an %s server refuses the certificate of a client", async (kind) => {
  const options = { ...serverIdentity, ca: certificate("ca.pem"), requestCert: true };
  const server = kind === "https" ? createHttpsServer(options) : createSecureServer(options);
  if (server instanceof HttpsServer) observeHttpServer(registry, server);
  else observeHttp2Server(registry, server);
  await listening(server);
  const stranger = { cert: certificate("other-client.pem"), key: certificate("other-client-key.pem") };
  const client = tlsConnect({ port: portOf(server), rejectUnauthorized: false, ...stranger });
  onTestFinished(() => void client.destroy());
  client.on("error", () => {});
  await expectShown({
    trace: expect.arrayContaining([
      "TLS handshake failed: client certificate refused: UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    ]),
  });
});

test("changes nothing for middleware that wraps the response", async () => {
  class Loud extends ServerResponse {
    _implicitHeader(): void {
      this.setHeader("x-loud", "yes");
      this.writeHead(this.statusCode);
    }
  }
  const server = await listening(
    createServer({ ServerResponse: Loud as unknown as typeof ServerResponse }, (_request, response) => {
      const { write, end } = response;
      response.write = (chunk: unknown) => Reflect.apply(write, response, [String(chunk).toUpperCase()]);
      response.end = (() => Reflect.apply(end, response, ["!"])) as typeof response.end;
      response.write("loud");
      response.end();
    }),
  );
  observeHttpServer(registry, server);
  await speak(server, get("/"), /x-loud: yes.*LOUD.*!/s);
  await expectShown({ calls: [1, 1, 0], streams: [[1, 1, 0]] });
});

test("[CZ-D-STATE-4] reports many connections that are lost at once together", async () => {
  const server = await listening(createServer(() => {}));
  observeHttpServer(registry, server);
  const clients = Array.from({ length: 20 }, () => connect(portOf(server), "127.0.0.1"));
  await expectShown({ streams: clients.map(() => [0, 0, 0]) });
  for (const client of clients) client.resetAndDestroy();
  await expectShown({ streams: [] });
  await expectShown({ trace: expect.arrayContaining(["Connection lost, 19 more within a second: ECONNRESET"]) });
  expect((await shown()).trace.filter((event) => event.startsWith("Connection lost"))).toHaveLength(2);
});

describe("over TLS", () => {
  const ca = certificate("ca.pem");

  test("[CZ-SEC-1] shows how the connections of a node:https server are secured", async () => {
    const server = await listening(createHttpsServer(serverIdentity, (_request, response) => response.end("secret")));
    observeHttpServer(registry, server);
    const clientRequest = httpsRequest({ port: portOf(server), host: "localhost", ca, family: 4 });
    clientRequest.end();
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    response.resume();
    await expectShown({ calls: [1, 1, 0], streams: [[1, 1, 0]] });
    const { socketRef } = await registry.getServerSockets((await registry.getServers()).server[0]!.ref!.serverId);
    const { socket } = await registry.getSocket(socketRef[0]!.socketId);
    expect(socket?.security?.model.case).toBe("tls");
  });

  test("reports a failed handshake with its reason, and counts no connection", async () => {
    const server = await listening(createHttpsServer(serverIdentity));
    observeHttpServer(registry, server);
    await speakTls(server, "TLSv1.1");
    await expectShown({
      streams: [],
      trace: expect.arrayContaining([expect.stringMatching(/^TLS handshake failed: unsupported protocol/)]),
    });
  });

  async function speakTls(server: NetServer, maxVersion: "TLSv1.1"): Promise<void> {
    const socket = tlsConnect({
      port: portOf(server),
      ca,
      maxVersion,
      minVersion: maxVersion,
      ciphers: "ALL:@SECLEVEL=0",
    });
    await once(socket, "error");
  }

  test("shows HTTP/1.1 and HTTP/2 under one server", async () => {
    const server: Http2SecureServer = await listening(
      createSecureServer({ ...serverIdentity, allowHTTP1: true }, (_request, response) => void response.end("either")),
    );
    observeHttp2Server(registry, server);
    const clientRequest = httpsRequest({ port: portOf(server), host: "localhost", ca, family: 4, agent: false });
    clientRequest.end();
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    expect(response.httpVersion).toBe("1.1");
    response.resume();
    const session = http2Connect(`https://localhost:${portOf(server)}`, { ca, family: 4 } as object);
    onTestFinished(() => session.destroy());
    const stream = session.request({ ":path": "/" });
    stream.resume();
    await once(stream, "close");
    await expectShown({ calls: [2, 2, 0] });
    expect(registry.size.servers).toBe(1);
  });
});

test("[CZ-ADDR-4] shows the path of a Unix socket on every connection of its server", async () => {
  const path = unixPath();
  const server = await listening(
    createServer((_request, response) => response.end("local")),
    { path },
  );
  observeHttpServer(registry, server);
  const clientRequest = request({ socketPath: path });
  clientRequest.end();
  const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
  response.resume();
  await expectShown({ calls: [1, 1, 0], streams: [[1, 1, 0]] });
  const { socketRef } = await registry.getServerSockets((await registry.getServers()).server[0]!.ref!.serverId);
  const { socket } = await registry.getSocket(socketRef[0]!.socketId);
  expect(socket?.local?.address).toMatchObject({ case: "udsAddress", value: { filename: path } });
});

test("shows the connections that are handed to a server that never listens", async () => {
  const inner = createServer((_request, response) => response.end("handed over"));
  observeHttpServer(registry, inner);
  const outer = await listening(createNetServer((socket) => inner.emit("connection", socket)));
  await speak(outer, get("/"), /handed over/);
  await expectShown({ calls: [1, 1, 0], streams: [[1, 1, 0]] });
});

describe("observation", () => {
  let server: Server;

  beforeEach(async () => {
    server = await listening(createServer((_request, response) => response.end("response")));
  });

  afterEach(() => stopObserving(server));

  test("stops on request, and starts again with the existing connections", async () => {
    observeHttpServer(registry, server);
    const socket = await speak(server, get("/"), /response/);
    await expectShown({ calls: [1, 1, 0], streams: [[1, 1, 0]] });
    expect(stopObserving(server)).toBe(true);
    expect(Object.hasOwn(server, "emit")).toBe(false);
    expect(registry.size).toMatchObject({ servers: 0, sockets: 0 });
    const again = once(socket, "data");
    socket.write(get("/"));
    await again;
    expect(registry.size).toMatchObject({ servers: 0, sockets: 0 });
    observeHttpServer(registry, server);
    socket.write(get("/"));
    await expectShown({ calls: [1, 1, 0], streams: [[1, 1, 0]] });
  });

  test("ends when the application closes the handle, and the application continues", async () => {
    const handle = observeHttpServer(registry, server);
    handle.close("enough");
    await speak(server, get("/"), /response/);
    await speak(server, get("/"), /response/);
    expect(registry.size).toMatchObject({ servers: 0, sockets: 0 });
  });

  test("ends with the server, and leaves nothing behind", async () => {
    observeHttpServer(registry, server);
    const socket = await speak(server, get("/"), /response/);
    socket.destroy();
    server.close();
    await once(server, "close");
    expect(registry.size).toMatchObject({ servers: 0, sockets: 0 });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    await speak(server, get("/"), /response/);
  });
});
