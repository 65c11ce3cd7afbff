import { once } from "node:events";
import {
  Agent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type RequestListener,
  type RequestOptions,
  request,
  type Server,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { allSucceeded, eventually, oneFailed, Probe, traceOf } from "./both-ends.test.helper.js";
import { type HttpClientsObservation, observeHttpClients } from "./observe-clients.js";
import { observeHttpServer } from "./observe-server.js";

let registry: Registry;
let server: Server;
let agent: Agent;
let clients: HttpClientsObservation;
let respond: RequestListener;

function sendRequest(options: RequestOptions = {}): ClientRequest {
  const { port } = server.address() as AddressInfo;
  return request({ host: "127.0.0.1", port, agent, ...options }).on("error", () => {});
}

/** Sends a request, and reads the response to its end, complete or not. */
async function exchange(options?: RequestOptions, body?: string): Promise<IncomingMessage | undefined> {
  const clientRequest = sendRequest(options);
  clientRequest.end(body);
  return responseOf(clientRequest);
}

async function responseOf(clientRequest: ClientRequest): Promise<IncomingMessage | undefined> {
  const response = await new Promise<IncomingMessage | undefined>((resolve) => {
    clientRequest.on("response", resolve);
    clientRequest.on("close", () => resolve(undefined));
  });
  response?.on("error", () => {});
  response?.resume();
  if (response !== undefined && !response.closed) await new Promise((resolve) => response.on("close", resolve));
  return response;
}

const post: RequestOptions = { method: "POST" };

function envelope(flags: number, text: string): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

beforeEach(async () => {
  registry = createRegistry();
  agent = new Agent({ keepAlive: true });
  clients = observeHttpClients(registry);
  respond = (incoming, response) => {
    incoming.resume();
    incoming.on("end", () => response.end("response"));
  };
  server = createServer((incoming, response) => respond(incoming, response));
  observeHttpServer(registry, server, { name: "test" });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(async () => {
  agent.destroy();
  clients.stop();
  server.closeAllConnections();
  if (server.listening) await new Promise((resolve) => server.close(resolve));
});

describe("counters of both ends", () => {
  test("[CZ-SOCKET-5] [CZ-SOCKET-6] [CZ-SOCKET-8] counts a request and its response", async () => {
    await exchange(post, "question");
    await (await Probe.of(registry)).expect(allSucceeded(1, 1, 1));
  });

  test("[CZ-SOCKET-8] counts a body as one message however it is written, and an empty body as none", async () => {
    respond = (_request, response) => {
      response.write("an");
      response.write(Buffer.from("sw"), () => response.end("er"));
    };
    await exchange();
    respond = (_request, response) => response.writeHead(204).end();
    await exchange();
    await (await Probe.of(registry)).expect(allSucceeded(2, 0, 1));
  });

  test("[CZ-SOCKET-8] counts no message for a request without a body, whatever request came before it", async () => {
    await exchange(post, "question");
    const clientRequest = sendRequest();
    clientRequest.end(() => {});
    await responseOf(clientRequest);
    await (await Probe.of(registry)).expect(allSucceeded(2, 1, 2));
  });

  test("[CZ-SOCKET-8] does not count a body that is written in response to HEAD", async () => {
    respond = (_request, response) => response.end("dropped");
    await exchange({ method: "HEAD" });
    await (await Probe.of(registry)).expect(allSucceeded(1, 0, 0));
  });

  test("[CZ-DATA-5] [CZ-SOCKET-6] counts the call by the HTTP status, but not the stream", async () => {
    respond = (_request, response) => response.writeHead(503).end("busy");
    await exchange();
    await (await Probe.of(registry)).expect(oneFailed([1, 1, 0], 0, 1));
  });

  test("[CZ-SOCKET-8] counts each message in an envelope, however the bytes are split, and takes the status from the last envelope", async () => {
    const type = { "content-type": "application/connect+json" };
    respond = (incoming, response) => {
      incoming.resume();
      incoming.on("end", () => {
        response.writeHead(200, type);
        const bytes = Buffer.concat([envelope(0, "one"), envelope(0, "two"), envelope(0, "three")]);
        response.write(bytes.subarray(0, 10));
        response.write(bytes.subarray(10), () => response.end(envelope(2, "{}")));
      });
    };
    const clientRequest = sendRequest({ ...post, headers: type });
    clientRequest.write(envelope(0, "q").toString("latin1"), "latin1");
    clientRequest.end(envelope(0, "another"));
    await responseOf(clientRequest);
    await (await Probe.of(registry)).expect(allSucceeded(1, 2, 3));
  });

  test("[CZ-DATA-5] counts a call with an error in the status envelope as failed", async () => {
    const type = { "content-type": "application/grpc-web+proto" };
    respond = (_request, response) => {
      response.setHeader("Content-Type", "application/grpc-web+proto");
      response.end(envelope(0x80, "grpc-status: 5\r\n"));
    };
    await exchange({ ...post, headers: type }, envelope(0, "q").toString());
    await (await Probe.of(registry)).expect(oneFailed([1, 1, 0], 1, 0));
  });

  test("keeps one connection for many requests, and while it is idle", async () => {
    for (let i = 0; i < 5; i += 1) await exchange(post, "question");
    const probe = await Probe.of(registry);
    await probe.expect(allSucceeded(5, 5, 5));
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 1, servers: 1, sockets: 3 });
    expect((await probe.objects()).channel.data?.state?.state).toBe(3);
  });

  test("[CZ-SOCKET-7] counts a request that the client cancels as failed on both ends", async () => {
    respond = (_request, response) => response.write("half");
    const clientRequest = sendRequest();
    clientRequest.end();
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    response.on("error", () => {});
    const probe = await Probe.of(registry);
    clientRequest.destroy();
    await probe.expect({
      channelCalls: [1, 0, 1],
      subchannelCalls: [1, 0, 1],
      serverCalls: [1, 0, 1],
      clientStreams: [1, 0, 1],
      serverStreams: [1, 0, 1],
      responseMessages: [0, 0],
    });
  });

  test("[CZ-SOCKET-7] counts a request that is aborted before its response as failed on both ends", async () => {
    const arrived = once(server, "request");
    respond = () => {};
    const clientRequest = sendRequest(post);
    clientRequest.write("half");
    await arrived;
    const probe = await Probe.of(registry);
    clientRequest.destroy();
    await probe.expect({ clientStreams: [1, 0, 1], serverStreams: [1, 0, 1], requestMessages: [0, 0] });
    await probe.expect({ channelCalls: [1, 0, 1], serverCalls: [1, 0, 1] });
  });

  test("[CZ-SOCKET-7] counts a response as failed on both ends if the server disconnects in the middle of it", async () => {
    const probes: Probe[] = [];
    respond = async (_request, response) => {
      probes.push(await Probe.of(registry));
      response.write("half", () => response.destroy());
    };
    await exchange();
    await probes[0]!.expect({
      channelCalls: [1, 0, 1],
      serverCalls: [1, 0, 1],
      clientStreams: [1, 0, 1],
      serverStreams: [1, 0, 1],
    });
  });

  test("[CZ-SOCKET-6] counts a response that ends with its connection as complete", async () => {
    const probes: Probe[] = [];
    respond = async (_request, response) => {
      probes.push(await Probe.of(registry));
      response.socket?.end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nanswer");
    };
    await exchange();
    await probes[0]!.expect({
      channelCalls: [1, 1, 0],
      clientStreams: [1, 1, 0],
      responseMessages: [0, 1],
      // Not written through Node's response object, so it is not observed.
      serverStreams: [1, 0, 1],
    });
  });

  test("[CZ-SOCKET-6] counts a response that was sent although the connection is destroyed right after", async () => {
    const probes: Probe[] = [];
    respond = async (incoming, response) => {
      probes.push(await Probe.of(registry));
      response.end("response");
      incoming.socket.destroy();
    };
    await exchange();
    await probes[0]!.expect(allSucceeded(1, 0, 1));
  });

  test("[CZ-SOCKET-7] does not count a response that the connection did not accept completely", async () => {
    respond = (_request, response) => response.end(Buffer.alloc(64 * 1024 * 1024));
    const clientRequest = sendRequest();
    clientRequest.end();
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    response.on("error", () => {});
    const probe = await Probe.of(registry);
    clientRequest.destroy();
    await probe.expect({ serverCalls: [1, 0, 1], serverStreams: [1, 0, 1], responseMessages: [0, 0] });
  });

  test("counts every started call as succeeded, failed or in flight at any moment", async () => {
    const responses: (() => void)[] = [];
    respond = (_request, response) => responses.push(() => response.end("response"));
    const exchanges = [exchange(), exchange(), exchange()];
    await eventually(() => expect(responses).toHaveLength(3));
    const calls = async (): Promise<unknown> => {
      const channel = (await registry.getTopChannels()).channel[0]!.data!;
      const { data } = (await registry.getServers()).server[0]!;
      return [channel, data!].map((one) => [one.callsStarted, one.callsSucceeded, one.callsFailed]);
    };
    for (let done = 0; done <= 3; done += 1) {
      await eventually(async () => {
        expect(await calls()).toEqual([
          [3n, BigInt(done), 0n],
          [3n, BigInt(done), 0n],
        ]);
      });
      responses[done]?.();
    }
    await Promise.all(exchanges);
  });

  test("[CZ-SOCKET-10] [CZ-SOCKET-11] records stream times on the right side", async () => {
    await exchange();
    const { client, accepted } = await (await Probe.of(registry)).objects();
    expect(client.data?.lastLocalStreamCreatedTimestamp).toBeDefined();
    expect(client.data?.lastRemoteStreamCreatedTimestamp).toBeUndefined();
    expect(accepted.data?.lastRemoteStreamCreatedTimestamp).toBeDefined();
    expect(accepted.data?.lastLocalStreamCreatedTimestamp).toBeUndefined();
  });
});

describe("an upgraded connection", () => {
  async function upgrade(): Promise<[ours: Socket, theirs: Socket]> {
    const upgraded = new Promise<Socket>((resolve) => {
      server.on("upgrade", (_request, socket: Socket) => {
        socket.on("error", () => {});
        socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
        socket.on("data", (chunk) => socket.write(chunk));
        resolve(socket);
      });
    });
    const clientRequest = sendRequest({ headers: { connection: "Upgrade", upgrade: "echo" } });
    clientRequest.end();
    const [, ours] = (await once(clientRequest, "upgrade")) as [IncomingMessage, Socket];
    ours.on("error", () => {});
    return [ours, await upgraded];
  }

  test("keeps the socket of an upgraded connection, and its stream in flight while it is open", async () => {
    const [ours, theirs] = await upgrade();
    ours.write("hello");
    expect(String((await once(ours, "data"))[0])).toBe("hello");
    const probe = await Probe.of(registry);
    await probe.expect({ clientStreams: [1, 0, 0], serverStreams: [1, 0, 0], channelCalls: [1, 0, 0] });
    theirs.end();
    await once(ours, "end");
    ours.end();
    await probe.expect(allSucceeded(1, 0, 0));
    await eventually(() => expect(registry.size.sockets).toBe(1));
  });

  test("counts the stream of an upgraded connection as failed with the connection", async () => {
    const [, theirs] = await upgrade();
    const probe = await Probe.of(registry);
    theirs.resetAndDestroy();
    await probe.expect({ clientStreams: [1, 0, 1], serverStreams: [1, 0, 1], serverCalls: [1, 0, 1] });
  });

  test("counts an upgrade that the server does not handle as an ordinary request", async () => {
    const response = await exchange({ headers: { connection: "Upgrade", upgrade: "echo" } });
    expect(response?.statusCode).toBe(200);
    await (await Probe.of(registry)).expect(allSucceeded(1, 0, 1));
  });
});

test("does not change the listeners that Node checks on a server", async () => {
  const events = ["connection", "request", "upgrade", "connect", "checkContinue", "clientError", "error"];
  const plain = createServer(() => {});
  const observed = createServer(() => {});
  observeHttpServer(registry, observed);
  const count = (one: Server): number[] => events.map((event) => one.listenerCount(event));
  expect(count(observed)).toEqual(count(plain));
});

test("[CZ-SOCKET-1] shows matching addresses on both ends", async () => {
  await exchange();
  const { client, accepted, server: shown } = await (await Probe.of(registry)).objects();
  expect(client.local).toEqual(accepted.remote);
  expect(client.remote).toEqual(accepted.local);
  expect(traceOf(shown)).toContain("Listening");
});
