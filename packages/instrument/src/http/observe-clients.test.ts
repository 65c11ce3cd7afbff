import { EventEmitter, once } from "node:events";
import {
  type Agent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer, Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { connect, createServer as createTcpServer, type Socket } from "node:net";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import { certificate, listening, portOf, serverIdentity, unixPath } from "../sockets/connections.test.helper.js";
import { callsOf, eventually, stateOf, statesOf } from "./both-ends.test.helper.js";
import { channelsOf, ended, hello, keepAlive, sendRequest, subchannelsOf } from "./client-requests.test.helper.js";
import { type HttpClientsObservation, type ObserveHttpClientsOptions, observeHttpClients } from "./observe-clients.js";

const responses = new WeakMap<ClientRequest, IncomingMessage>();
let registry: Registry;
let clients: HttpClientsObservation | undefined;

beforeEach(() => {
  registry = createRegistry();
});

function observe(options?: ObserveHttpClientsOptions): void {
  clients = observeHttpClients(registry, options);
  const observation = clients;
  onTestFinished(() => observation.stop());
}

describe("channels", () => {
  test("[CZ-D-TARGET-1] shows one channel per origin with the requested target", async () => {
    observe();
    const [one, other] = [await hello(), await hello()];
    const agent = keepAlive();
    for (const port of [portOf(one), portOf(other), portOf(one)]) await sendRequest({ host: "127.0.0.1", port, agent });
    expect((await channelsOf(registry)).map((channel) => [channel.data?.target, callsOf(channel)])).toEqual([
      [`http://127.0.0.1:${portOf(one)}`, [2, 2, 0]],
      [`http://127.0.0.1:${portOf(other)}`, [1, 1, 0]],
    ]);
  });

  test.each<[string, string, RequestOptions]>([
    ["is not a host name", "http://localhost", { headers: { host: "a b" } }],
    ["is missing, and the host is an IPv6 address", "http://[::1]", { setHost: false, host: "::1" }],
  ])("shows a request without an agent whose Host header %s", async (_what, target, options) => {
    observe();
    const respond = (_request: IncomingMessage, response: ServerResponse): void => void response.end("hello");
    const port = portOf(await listening(createServer({ requireHostHeader: false }, respond)));
    await new Promise<void>((resolve, reject) => {
      const sent = request({ ...options, createConnection: () => connect(port, "127.0.0.1") });
      sent.on("response", (response) => response.resume().on("end", resolve)).on("error", reject);
      sent.end();
    });
    expect((await channelsOf(registry)).map((channel) => [channel.data?.target, callsOf(channel)])).toEqual([
      [target, [1, 1, 0]],
    ]);
  });

  test("[CZ-SOCKET-4] omits a remote name that the target already contains", async () => {
    observe();
    const port = portOf(await hello());
    await sendRequest({ host: "localhost", family: 4, port, agent: keepAlive() });
    const [channel] = await channelsOf(registry);
    expect(channel?.data?.target).toBe(`http://localhost:${port}`);
    const [subchannel] = await subchannelsOf(registry, channel!);
    const { socket } = await registry.getSocket(subchannel!.socketRef[0]!.socketId);
    expect([socket?.remoteName, socket?.remote?.address.case]).toEqual(["", "tcpipAddress"]);
  });

  test("[CZ-D-STATE-1] follows the state of the connections: READY, and IDLE after the last has closed", async () => {
    observe();
    const server = await hello();
    const agent = keepAlive();
    await sendRequest({ host: "127.0.0.1", port: portOf(server), agent });
    expect(stateOf((await channelsOf(registry))[0]!)).toBe("READY");
    server.closeAllConnections();
    await eventually(async () => expect(stateOf((await channelsOf(registry))[0]!)).toBe("IDLE"));
    const channel = (await channelsOf(registry))[0]!;
    const edges = ["IDLE -> CONNECTING", "CONNECTING -> READY", "READY -> IDLE"];
    expect(statesOf(channel)).toEqual(edges);
    const [subchannel] = await subchannelsOf(registry, channel);
    expect(statesOf(subchannel!)).toEqual(edges);
    expect(subchannel?.data?.target).toBe(`127.0.0.1:${portOf(server)}`);
  });

  test("[CZ-D-STATE-4] shows TRANSIENT_FAILURE with the cause if a connection fails, until the next attempt", async () => {
    observe();
    const port = await freePort();
    expect(await sendRequest({ host: "127.0.0.1", port })).toMatchObject({ code: "ECONNREFUSED" });
    const channel = (await channelsOf(registry))[0]!;
    expect(callsOf(channel)).toEqual([1, 0, 1]);
    expect(stateOf(channel)).toBe("TRANSIENT_FAILURE");
    const cause = `connect ECONNREFUSED 127.0.0.1:${port}`;
    expect(statesOf(channel)).toEqual(["IDLE -> CONNECTING", `CONNECTING -> TRANSIENT_FAILURE: ${cause}`]);
    const [subchannel] = await subchannelsOf(registry, channel);
    expect(statesOf(subchannel!)).toEqual(["IDLE -> CONNECTING", `CONNECTING -> TRANSIENT_FAILURE: ${cause}`]);
    expect(callsOf(subchannel!)).toEqual([0, 0, 0]);

    await hello({ port });
    await sendRequest({ host: "127.0.0.1", port, agent: keepAlive() });
    const again = (await channelsOf(registry))[0]!;
    expect(stateOf(again)).toBe("READY");
    expect(statesOf(again).slice(2)).toEqual(["TRANSIENT_FAILURE -> CONNECTING", "CONNECTING -> READY"]);
  });

  test.each<[string, (clientRequest: ClientRequest, controller: AbortController) => void]>([
    ["its signal is aborted", (_request, controller) => controller.abort()],
    [
      "its timeout destroys the request",
      (clientRequest) => clientRequest.destroy(new Error("timeout of 1000ms exceeded")),
    ],
    [
      "it destroys the response",
      (clientRequest) => responses.get(clientRequest)!.destroy(new Error("unexpected content")),
    ],
  ])("does not show TRANSIENT_FAILURE for a healthy target if a client cancels a call: %s", async (_way, giveUp) => {
    observe();
    const server = await listening(createServer((_request, response) => void response.write("the first half")));
    const controller = new AbortController();
    const clientRequest = request({ host: "127.0.0.1", port: portOf(server), signal: controller.signal });
    const over = ended(clientRequest);
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    responses.set(clientRequest, response);
    giveUp(clientRequest, controller);
    await over;
    await eventually(async () => expect(stateOf((await channelsOf(registry))[0]!)).toBe("IDLE"));
    const [channel] = await channelsOf(registry);
    expect(callsOf(channel!)).toEqual([1, 0, 1]);
    expect(statesOf(channel!)).toEqual(["IDLE -> CONNECTING", "CONNECTING -> READY", "READY -> IDLE"]);
  });

  // Without an agent, Node destroys the socket with the error of the request.
  test.each<[string, (port: number) => RequestOptions]>([
    [
      "before Node assigns the socket to the request",
      (port) => ({ createConnection: () => connect(port, "127.0.0.1") }),
    ],
    [
      "before there is a socket",
      (port) => ({
        createConnection(_options, created) {
          process.nextTick(() => created(null, connect(port, "127.0.0.1")));
          return undefined;
        },
      }),
    ],
    ["with an agent", () => ({})],
  ])(
    "does not show a failure if a client cancels before the connection is established: %s",
    async (_when, optionsFor) => {
      observe();
      const port = portOf(await hello());
      const clientRequest = request({ host: "127.0.0.1", port, ...optionsFor(port) });
      const over = ended(clientRequest);
      clientRequest.destroy(new Error("changed its mind"));
      expect(await over).toMatchObject({ message: "changed its mind" });
      await eventually(async () => {
        const [channel] = await channelsOf(registry);
        expect(statesOf(channel!)).toEqual(["IDLE -> CONNECTING", "CONNECTING -> IDLE"]);
      });
    },
  );

  test("[CZ-D-STATE-4] shows TRANSIENT_FAILURE with the cause if a connection is reset during a call", async () => {
    observe();
    const server = await listening(createServer((incoming) => void incoming.socket.resetAndDestroy()));
    await sendRequest({ host: "127.0.0.1", port: portOf(server) });
    await eventually(async () => expect(stateOf((await channelsOf(registry))[0]!)).toBe("TRANSIENT_FAILURE"));
    expect(statesOf((await channelsOf(registry))[0]!).at(-1)).toBe("READY -> TRANSIENT_FAILURE: read ECONNRESET");
  });

  test.each<[string, string, (sent: ClientRequest) => void]>([
    ["before the response", "", () => undefined],
    ["before the response, and the client destroys the request", "", (sent) => void sent.destroy()],
    ["within the response", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", () => undefined],
  ])("[CZ-D-STATE-4] shows TRANSIENT_FAILURE if the server ends the connection %s", async (_when, start, onError) => {
    observe();
    const server = createTcpServer((socket) => void socket.once("data", () => socket.end(start)));
    const sent = request({ host: "127.0.0.1", port: portOf(await listening(server)) }).end();
    sent.on("response", (response) => response.on("error", () => undefined).resume());
    sent.on("error", () => onError(sent));
    await new Promise((resolve) => sent.once("close", resolve));
    await eventually(async () => expect(stateOf((await channelsOf(registry))[0]!)).toBe("TRANSIENT_FAILURE"));
    const [channel] = await channelsOf(registry);
    expect(statesOf(channel!).at(-1)).toBe("READY -> TRANSIENT_FAILURE: closed with calls in flight");
    expect(callsOf(channel!)).toEqual([1, 0, 1]);
  });

  test("[CZ-D-STATE-4] shows TRANSIENT_FAILURE if the server does not speak HTTP", async () => {
    observe();
    const server = createTcpServer((socket) => void socket.once("data", () => socket.write("SSH-2.0-server\r\n")));
    const sent = request({ host: "127.0.0.1", port: portOf(await listening(server)) }).end();
    await new Promise((resolve) => sent.once("error", resolve));
    await eventually(async () => expect(stateOf((await channelsOf(registry))[0]!)).toBe("TRANSIENT_FAILURE"));
    const [channel] = await channelsOf(registry);
    expect(statesOf(channel!).at(-1)).toBe("READY -> TRANSIENT_FAILURE: the response is not valid HTTP");
    expect(callsOf(channel!)).toEqual([1, 0, 1]);
  });

  test.each<[string, (sent: ClientRequest, agent: Agent) => unknown]>([
    ["socket", (sent) => sent.socket?.destroy()],
    ["agent", (_sent, agent) => agent.destroy()],
  ])("shows IDLE if the application destroys the %s of a call in flight", async (_what, destroy) => {
    observe();
    const port = portOf(await listening(createTcpServer((socket) => void socket.resume())));
    const agent = keepAlive();
    const sent = request({ host: "127.0.0.1", port, agent });
    sent.on("error", () => {}).end();
    await eventually(async () => expect(stateOf((await channelsOf(registry))[0]!)).toBe("READY"));
    destroy(sent, agent);
    await eventually(async () => expect(stateOf((await channelsOf(registry))[0]!)).toBe("IDLE"));
  });

  test.each([
    ["a body that ends with the connection", "HTTP/1.1 200 OK\r\n\r\nhello"],
    ["an upgraded connection", "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n"],
  ])("shows IDLE after the server ends %s", async (_what, response) => {
    observe();
    const server = createTcpServer((socket) => void socket.once("data", () => socket.end(response)));
    const headers = { connection: "upgrade", upgrade: "echo" };
    const sent = request({ host: "127.0.0.1", port: portOf(await listening(server)), headers }).end();
    sent.on("response", (received) => received.resume());
    sent.on("upgrade", (_received, socket) => void socket.resume());
    await eventually(async () => expect(callsOf((await channelsOf(registry))[0]!)).toEqual([1, 1, 0]));
    await eventually(async () => expect(stateOf((await channelsOf(registry))[0]!)).toBe("IDLE"));
  });

  test("shows a failure without an address for an unknown name", async () => {
    observe();
    const lookup: RequestOptions["lookup"] = (name, _options, found) =>
      found(Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: "ENOTFOUND" }), []);
    expect(await sendRequest({ host: "nowhere.test", lookup })).toMatchObject({ code: "ENOTFOUND" });
    const channel = (await channelsOf(registry))[0]!;
    expect(channel.data?.target).toBe("http://nowhere.test");
    expect(channel.subchannelRef).toEqual([]);
    expect(statesOf(channel).at(-1)).toBe("CONNECTING -> TRANSIENT_FAILURE: getaddrinfo ENOTFOUND nowhere.test");
  });

  test("shows several addresses of one name as several subchannels, each with its result", async () => {
    observe();
    const server = await hello();
    const port = portOf(server);
    const lookup = ((_name: string, _options: object, found: (error: null, all: object[]) => void) =>
      found(null, [
        { address: "127.0.0.2", family: 4 },
        { address: "127.0.0.1", family: 4 },
      ])) as unknown as NonNullable<RequestOptions["lookup"]>;
    const agent = keepAlive();
    expect(await sendRequest({ host: "service.test", port, agent, lookup })).toBeUndefined();
    const channel = (await channelsOf(registry))[0]!;
    const [refused, ready] = await subchannelsOf(registry, channel);
    expect([refused?.data?.target, stateOf(refused!)]).toEqual([`127.0.0.2:${port}`, "TRANSIENT_FAILURE"]);
    expect([ready?.data?.target, stateOf(ready!), callsOf(ready!)]).toEqual([`127.0.0.1:${port}`, "READY", [1, 1, 0]]);
    expect(stateOf(channel)).toBe("READY");
  });

  test("[CZ-D-TARGET-1] removes channels of idle origins above the limit, the longest idle first", async () => {
    observe({ maxIdleChannels: 3 });
    const agent = keepAlive();
    const busy = await hello();
    await sendRequest({ host: "127.0.0.1", port: portOf(busy), agent });
    const server = await hello();
    const visit = (host: string): Promise<unknown> => {
      const lookup = ((_name: string, _options: object, found: (error: null, all: object[]) => void) =>
        found(null, [{ address: "127.0.0.1", family: 4 }])) as unknown as NonNullable<RequestOptions["lookup"]>;
      return sendRequest({ host, port: portOf(server), lookup, agent: false });
    };
    for (const host of ["a", "b", "c", "a", "d", "e"]) {
      await visit(`${host}.test`);
      await eventually(async () => {
        const states = (await channelsOf(registry)).map(stateOf);
        expect(states.filter((state) => state === "READY")).toHaveLength(1);
      });
    }
    const port = portOf(server);
    expect((await channelsOf(registry)).map(({ data }) => data?.target)).toEqual([
      `http://127.0.0.1:${portOf(busy)}`,
      `http://a.test:${port}`,
      `http://d.test:${port}`,
      `http://e.test:${port}`,
    ]);
    expect(registry.size).toMatchObject({ channels: 4, subchannels: 4, sockets: 1 });
  });
});

describe("connections", () => {
  test("[CZ-SEC-1] shows how a TLS connection is secured, and the reason of a failure", async () => {
    observe();
    const server = await listening(
      createHttpsServer(serverIdentity, (_request, response) => response.end("secret")),
      { host: "127.0.0.1" },
    );
    const agent = new HttpsAgent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const target = { host: "127.0.0.1", servername: "localhost", port: portOf(server), agent };
    expect(await ended(httpsRequest({ ...target, ca: certificate("ca.pem") }))).toBeUndefined();
    const channel = (await channelsOf(registry))[0]!;
    expect(channel.data?.target).toBe(`https://127.0.0.1:${portOf(server)}`);
    const [subchannel] = await subchannelsOf(registry, channel);
    const { socket } = await registry.getSocket(subchannel!.socketRef[0]!.socketId);
    expect(socket?.security?.model.case).toBe("tls");
    agent.destroy();
    await eventually(async () => expect(stateOf((await channelsOf(registry))[0]!)).toBe("IDLE"));

    expect(await ended(httpsRequest({ ...target, ca: certificate("other-ca.pem") }))).toBeInstanceOf(Error);
    const failed = (await channelsOf(registry))[0]!;
    const cause = /^CONNECTING -> TRANSIENT_FAILURE: unable to verify the first certificate/;
    expect(statesOf(failed).at(-1)).toMatch(cause);
    expect(statesOf((await subchannelsOf(registry, failed))[0]!).at(-1)).toMatch(cause);
    expect(callsOf(failed)).toEqual([2, 1, 1]);
  });

  test("[CZ-ADDR-4] shows the path of a Unix socket, even if nothing listens there", async () => {
    observe();
    const path = unixPath();
    expect(await sendRequest({ socketPath: path })).toMatchObject({ code: "ENOENT" });
    await listening(
      createServer((_request, response) => response.end("local")),
      { path },
    );
    await sendRequest({ socketPath: path, agent: keepAlive() });
    const channel = (await channelsOf(registry))[0]!;
    expect([channel.data?.target, callsOf(channel)]).toEqual([`unix:${path}`, [2, 1, 1]]);
    const [subchannel] = await subchannelsOf(registry, channel);
    expect(subchannel?.data?.target).toBe(`unix:${path}`);
    const { socket } = await registry.getSocket(subchannel!.socketRef[0]!.socketId);
    expect(socket?.remote?.address).toMatchObject({ case: "udsAddress", value: { filename: path } });
  });

  test("shows connections that the application opens itself", async () => {
    observe();
    const port = portOf(await hello());
    await sendRequest({ host: "service.test", port, createConnection: () => connect(port, "127.0.0.1") });
    const channel = (await channelsOf(registry))[0]!;
    expect([channel.data?.target, callsOf(channel)]).toEqual([`http://service.test:${port}`, [1, 1, 0]]);
  });

  test("shows connections of another agent implementation", async () => {
    observe();
    const port = portOf(await hello());
    class OwnAgent extends EventEmitter {
      addRequest(clientRequest: ClientRequest & { onSocket(socket: Socket): void }): void {
        const socket = connect(port, "127.0.0.1");
        socket.on("connect", () => clientRequest.onSocket(socket));
      }
    }
    await sendRequest({ host: "127.0.0.1", port, agent: new OwnAgent() as unknown as Agent });
    expect(callsOf((await channelsOf(registry))[0]!)).toEqual([1, 1, 0]);
  });
});

describe("observation", () => {
  test("stops on request, and starts again with the existing connections", async () => {
    observe();
    const port = portOf(await hello());
    const agent = keepAlive();
    await sendRequest({ host: "127.0.0.1", port, agent });
    clients?.stop();
    clients?.stop();
    expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 0 });
    await sendRequest({ host: "127.0.0.1", port, agent });
    expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 0 });
    observe();
    const clientRequest = request({ host: "127.0.0.1", port, agent });
    await ended(clientRequest);
    expect(clientRequest.reusedSocket).toBe(true);
    expect((await channelsOf(registry)).map(callsOf)).toEqual([[1, 1, 0]]);
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 1, sockets: 1 });
  });

  test("stops with requests in flight, which continue", async () => {
    observe();
    const waiting: (() => void)[] = [];
    const server = await listening(
      createServer((_request, response) => void waiting.push(() => response.end("hello"))),
    );
    const target = { host: "127.0.0.1", port: portOf(server), agent: keepAlive({ maxSockets: 1 }) };
    const requests = [sendRequest(target), sendRequest(target)];
    await eventually(() => expect(waiting).toHaveLength(1));
    const connecting = sendRequest({ ...target, agent: false });
    clients?.stop();
    expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 0 });
    for (const next of [0, 1, 2]) {
      await eventually(() => expect(waiting.length).toBeGreaterThan(next));
      waiting[next]!();
    }
    expect(await Promise.all([...requests, connecting])).toEqual([undefined, undefined, undefined]);
    expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 0 });
  });

  test("shows nothing of a connection that ended before it was handed over", async () => {
    observe();
    const port = portOf(await hello());
    const dead = connect(port, "127.0.0.1");
    dead.destroy();
    await once(dead, "close");
    const clientRequest = request({ host: "127.0.0.1", port, createConnection: () => dead });
    clientRequest.on("error", () => {});
    clientRequest.end();
    // Node itself never reports the end of such a request.
    await new Promise((resolve) => setImmediate(resolve));
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 0, sockets: 0 });
    clientRequest.destroy();
  });

  test("allows one registry at a time, and is shared by its callers", async () => {
    observe();
    expect(() => observeHttpClients(createRegistry())).toThrow(
      /already observed in another registry\. Pass that registry, or/,
    );
    const shared = observeHttpClients(registry);
    clients?.stop();
    await sendRequest({ host: "127.0.0.1", port: portOf(await hello()) });
    expect(registry.size).toMatchObject({ channels: 1 });
    shared.stop();
    expect(registry.size).toMatchObject({ channels: 0 });
  });

  test("counts a request that Node rejects as misuse as failed", async () => {
    observe();
    const misused = { host: "127.0.0.1", port: 1, agent: keepAlive(), headers: { host: 5 as unknown as string } };
    expect(() => request(misused)).toThrow(TypeError);
    expect(callsOf((await channelsOf(registry))[0]!)).toEqual([1, 0, 1]);
  });
});
