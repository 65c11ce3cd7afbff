import { Agent } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, type ServerHttp2Session } from "node:http2";
import { connect } from "node:net";
import { promisify } from "node:util";
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { type Channel, createRegistry, type DroppedObject, type Registry } from "@wirescope/channelz";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { callsOf, eventually, stateOf, statesOf, traceOf } from "../http/both-ends.test.helper.js";
import { observeHttpClients } from "../http/observe-clients.js";
import { observeHttp2Module } from "../http2/observe-module.js";
import { stopObserving } from "../observation.js";
import { certificate, portOf } from "../sockets/connections.test.helper.js";
import { Echo, type EchoServer, serveEcho } from "./echo.test.helper.js";
import { observeTransport } from "./observe-transport.js";

/** A common type for the options of both HTTP versions. */
type TransportTo = { readonly baseUrl: string; readonly httpVersion: "2" };

let registry: Registry;

beforeEach(() => {
  registry = createRegistry();
});

async function channels(): Promise<Channel[]> {
  return (await registry.getTopChannels()).channel;
}

async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  return call.then(
    () => expect.unreachable("The call succeeded."),
    (error: unknown) => ConnectError.from(error),
  );
}

describe("over HTTP/2", () => {
  let server: EchoServer;
  let manager: Http2SessionManager;

  beforeEach(async () => {
    server = await serveEcho({ httpVersion: "2" });
    manager = new Http2SessionManager(server.baseUrl);
    onTestFinished(() => manager.abort());
  });

  test("[CZ-DATA-1] shows a transport as a channel from the start, with the given name and target", async () => {
    observeTransport(registry, { baseUrl: `${server.baseUrl}/api` }, { name: "greeter" });
    const [channel] = await channels();
    expect([channel?.ref?.name, channel?.data?.target]).toEqual(["greeter", `${server.baseUrl}/api`]);
    expect(stateOf(channel!)).toBe("IDLE");
  });

  test("[CZ-D-STATE-1] follows the state of the session: IDLE, CONNECTING, READY, and back to IDLE", async () => {
    const options = { baseUrl: server.baseUrl, idleConnectionTimeoutMs: 20 };
    const client = createClient(Echo, createGrpcTransport(observeTransport(registry, options)));
    await client.unary({ value: "hello" });
    expect(stateOf((await channels())[0]!)).toBe("READY");
    await eventually(async () => expect(stateOf((await channels())[0]!)).toBe("IDLE"));
    const [channel] = await channels();
    expect(statesOf(channel!)).toEqual(["IDLE -> CONNECTING", "CONNECTING -> READY", "READY -> IDLE"]);
    expect(traceOf(channel!)).toContain(`Connecting to 127.0.0.1 port ${portOf(server.server)}`);
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 0, sockets: 0 });
  });

  test("[CZ-D-STATE-4] shows TRANSIENT_FAILURE with the cause if a connection fails, and counts its calls as failed", async () => {
    const client = createClient(
      Echo,
      createGrpcTransport(observeTransport(registry, { baseUrl: "http://127.0.0.1:1" })),
    );
    expect(await failureOf(client.unary({ value: "hello" }))).toMatchObject({ code: Code.Unavailable });
    await eventually(async () => expect(stateOf((await channels())[0]!)).toBe("TRANSIENT_FAILURE"));
    const [channel] = await channels();
    expect(statesOf(channel!)).toEqual([
      "IDLE -> CONNECTING",
      "CONNECTING -> TRANSIENT_FAILURE: connect ECONNREFUSED 127.0.0.1:1",
    ]);
    expect(callsOf(channel!)).toEqual([1, 0, 1]);
  });

  test("shows the reason of a failed TLS handshake", async () => {
    const secure = await serveEcho({ httpVersion: "2", isSecure: true });
    const nodeOptions = { ca: certificate("other-ca.pem"), servername: "localhost" };
    const options = observeTransport(registry, { baseUrl: secure.baseUrl, nodeOptions });
    await failureOf(createClient(Echo, createGrpcTransport(options)).unary({ value: "hello" }));
    await eventually(async () => {
      expect(statesOf((await channels())[0]!).at(-1)).toMatch(/-> TRANSIENT_FAILURE: unable to verify/);
    });
  });

  test("shows a lost connection as a failure until the next call opens another", async () => {
    const options = observeTransport(registry, { baseUrl: server.baseUrl, sessionManager: manager });
    const client = createClient(Echo, createGrpcTransport(options));
    await client.unary({ value: "hello" });
    server.cut();
    await eventually(async () => expect(stateOf((await channels())[0]!)).not.toBe("READY"));
    await client.unary({ value: "again" });
    const [channel] = await channels();
    expect(stateOf(channel!)).toBe("READY");
    expect(callsOf(channel!)).toEqual([2, 2, 0]);
  });

  test("keeps a session that received GOAWAY until its calls are done, next to the session that replaces it", async () => {
    const sessions: ServerHttp2Session[] = [];
    let streams = 0;
    server.server.on("session", (session: ServerHttp2Session) => {
      sessions.push(session);
      session.on("stream", () => {
        streams += 1;
      });
    });
    const controller = new AbortController();
    const options = observeTransport(registry, { baseUrl: server.baseUrl, sessionManager: manager });
    const client = createClient(Echo, createGrpcTransport(options));
    const hanging = failureOf(client.unary({ value: "hang" }, { signal: controller.signal }));
    await eventually(() => expect(sessions).toHaveLength(1));
    await eventually(() => expect(manager.state()).toBe("open"));
    // A stream that arrives after GOAWAY would be refused.
    await eventually(() => expect(streams).toBe(1));
    sessions[0]!.goaway();
    const [before] = (await channels())[0]!.subchannelRef;
    await eventually(async () => {
      const { subchannel } = await registry.getSubchannel(before!.subchannelId);
      expect(traceOf(subchannel!)).toContain("GOAWAY with NO_ERROR");
    });
    await client.unary({ value: "hello" });
    const [channel] = await channels();
    expect([channel?.subchannelRef.length, stateOf(channel!), callsOf(channel!)]).toEqual([2, "READY", [2, 1, 0]]);
    controller.abort();
    await hanging;
    await eventually(async () => expect((await channels())[0]?.subchannelRef).toHaveLength(1));
    expect(statesOf((await channels())[0]!)).toEqual([
      "IDLE -> CONNECTING",
      "CONNECTING -> READY",
      "READY -> IDLE",
      "IDLE -> CONNECTING",
      "CONNECTING -> READY",
    ]);
  });

  test("[CZ-SOCKET-9] counts the pings that keep the connection alive", async () => {
    const controller = new AbortController();
    const options = { baseUrl: server.baseUrl, pingIntervalMs: 10 };
    const client = createClient(Echo, createGrpcTransport(observeTransport(registry, options)));
    const call = failureOf(client.unary({ value: "hang" }, { signal: controller.signal }));
    await eventually(async () => {
      const { subchannelRef } = (await channels())[0]!;
      const { subchannel } = await registry.getSubchannel(subchannelRef[0]!.subchannelId);
      const { socket } = await registry.getSocket(subchannel!.socketRef[0]!.socketId);
      expect(Number(socket?.data?.keepAlivesSent)).toBeGreaterThan(1);
    });
    controller.abort();
    await call;
  });

  test("[CZ-D-STATE-3] shuts the channel down if its session manager is aborted, and shows another if the manager is used again", async () => {
    const options = observeTransport(registry, { baseUrl: server.baseUrl, sessionManager: manager });
    const client = createClient(Echo, createGrpcTransport(options));
    await client.unary({ value: "hello" });
    const hanging = failureOf(client.unary({ value: "hang" }));
    const [first] = await channels();
    manager.abort();
    expect(await channels()).toEqual([]);
    await hanging;
    const { channel } = await registry.getChannel(first!.ref!.channelId);
    expect(statesOf(channel!).at(-1)).toBe("READY -> SHUTDOWN, closed: aborted");
    await eventually(async () => {
      expect(callsOf((await registry.getChannel(first!.ref!.channelId)).channel!)).toEqual([2, 1, 1]);
    });
    await client.unary({ value: "again" });
    const [second] = await channels();
    expect(second?.ref).not.toEqual(first?.ref);
    expect([callsOf(second!), stateOf(second!)]).toEqual([[1, 1, 0], "READY"]);
  });

  test("shows one channel for transports that share a session manager, even if it was connected before", async () => {
    await manager.connect();
    const options = { baseUrl: server.baseUrl, httpVersion: "2", sessionManager: manager } as const;
    for (const create of [createGrpcTransport, createGrpcWebTransport, createConnectTransport]) {
      await createClient(Echo, create(observeTransport(registry, options))).unary({ value: "hello" });
    }
    const all = await channels();
    expect(all.map((channel) => [callsOf(channel), stateOf(channel)])).toEqual([[[3, 3, 0], "READY"]]);
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 1, sockets: 1 });
  });

  test("counts the calls of another implementation of session managers without changing it", async () => {
    const foreign = {
      authority: manager.authority,
      request: (...args: Parameters<Http2SessionManager["request"]>) => manager.request(...args),
      notifyResponseByteRead: () => {},
    };
    const options = observeTransport(registry, { baseUrl: server.baseUrl, sessionManager: foreign });
    await createClient(Echo, createGrpcTransport(options)).unary({ value: "hello" });
    expect((await channels()).map(callsOf)).toEqual([[1, 1, 0]]);
  });

  test("shows the sessions of a transport once if the whole module is observed too, in either order", async () => {
    const before = observeTransport(registry, { baseUrl: server.baseUrl });
    const stop = observeHttp2Module(registry);
    onTestFinished(stop);
    const after = observeTransport(registry, { baseUrl: server.baseUrl });
    for (const options of [before, after]) {
      await createClient(Echo, createGrpcTransport(options)).unary({ value: "hello" });
    }
    expect((await channels()).map(callsOf)).toEqual([
      [1, 1, 0],
      [1, 1, 0],
    ]);
    // Observing the module shows the server too, with its listen socket and its end of each connection.
    expect(registry.size).toMatchObject({ channels: 2, subchannels: 2, servers: 1, sockets: 2 + 1 + 2 });
    stop();
    const session = connectHttp2(server.baseUrl);
    onTestFinished(() => session.destroy());
    expect(registry.size).toMatchObject({ channels: 2, subchannels: 2 });
  });

  test("does not change http2.connect for other users", async () => {
    observeTransport(registry, { baseUrl: server.baseUrl });
    expect(connectHttp2.name).toBe("connect");
    const session = (await promisify(connectHttp2)(server.baseUrl)) as ClientHttp2Session;
    onTestFinished(() => session.destroy());
    expect((await channels()).map(stateOf)).toEqual(["IDLE"]);
  });
});

describe("over HTTP/1.1", () => {
  let server: EchoServer;
  let agent: Agent;

  beforeEach(async () => {
    server = await serveEcho({ httpVersion: "1.1" });
    agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
  });

  test("shows shared connections under the channel of each transport", async () => {
    const options = { baseUrl: server.baseUrl, httpVersion: "1.1", nodeOptions: { agent } } as const;
    const one = createClient(Echo, createConnectTransport(observeTransport(registry, options, { name: "one" })));
    const other = createClient(Echo, createGrpcWebTransport(observeTransport(registry, options, { name: "other" })));
    await one.unary({ value: "hello" });
    await other.unary({ value: "hello" });
    await other.unary({ value: "hello" });
    const all = await channels();
    expect(all.map((channel) => [channel.ref?.name, callsOf(channel), stateOf(channel)])).toEqual([
      ["one", [1, 1, 0], "READY"],
      ["other", [2, 2, 0], "READY"],
    ]);
    expect(all[0]?.subchannelRef).toEqual(all[1]?.subchannelRef);
    expect(registry.size).toMatchObject({ subchannels: 1, sockets: 1 });
    server.cut();
    await eventually(async () => expect((await channels()).map(stateOf)).toEqual(["IDLE", "IDLE"]));
  });

  // Connect destroys the response, and with it the connection, in both cases.
  test.each([
    ["an application error", "fail 2", undefined],
    ["the client's own time-out", "hang 2", 50],
  ])("does not show TRANSIENT_FAILURE for a healthy target after %s", async (_what, value, timeoutMs) => {
    const options = { baseUrl: server.baseUrl, httpVersion: "1.1", nodeOptions: { agent } } as const;
    for (const create of [createConnectTransport, createGrpcWebTransport]) {
      const client = createClient(Echo, create(observeTransport(registry, options)));
      const read = async (): Promise<void> => {
        for await (const _ of client.serverStream({ value }, timeoutMs === undefined ? {} : { timeoutMs }));
      };
      await failureOf(read());
    }
    await eventually(async () => {
      const all = await channels();
      expect(all.map((channel) => [callsOf(channel), stateOf(channel)])).toEqual([
        [[1, 0, 1], "IDLE"],
        [[1, 0, 1], "IDLE"],
      ]);
      expect(all.flatMap(traceOf).join()).not.toContain("TRANSIENT_FAILURE");
    });
  });

  test("shows the requests of a transport under its channel if all other requests of the process are observed too", async () => {
    const clients = observeHttpClients(registry);
    onTestFinished(() => clients.stop());
    const options = { baseUrl: server.baseUrl, httpVersion: "1.1", nodeOptions: { agent } } as const;
    await createClient(Echo, createConnectTransport(observeTransport(registry, options))).unary({ value: "hello" });
    expect((await channels()).map(callsOf)).toEqual([[1, 1, 0]]);
  });

  test("shows connections that the application opens itself under the channel of the transport", async () => {
    const port = portOf(server.server);
    const options = {
      baseUrl: server.baseUrl,
      httpVersion: "1.1",
      nodeOptions: { createConnection: () => connect(port, "127.0.0.1") },
    } as const;
    const client = createClient(Echo, createConnectTransport(observeTransport(registry, options)));
    await client.unary({ value: "hello" });
    const [channel] = await channels();
    const { subchannel } = await registry.getSubchannel(channel!.subchannelRef[0]!.subchannelId);
    expect([callsOf(channel!), callsOf(subchannel!)]).toEqual([
      [1, 1, 0],
      [1, 1, 0],
    ]);
  });
});

test("counts calls as the application's interceptors make them", async () => {
  const { baseUrl } = await serveEcho({ httpVersion: "2" });
  const twice: Interceptor = (next) => (request) => next(request).then(() => next(request));
  const cached: Interceptor = (next) => async (request) => {
    if (request.header.has("x-cached")) throw new ConnectError("from the cache", Code.NotFound);
    return next(request);
  };
  const options = observeTransport(registry, { baseUrl, interceptors: [cached, twice] });
  const client = createClient(Echo, createGrpcTransport(options));
  await client.unary({ value: "hello" });
  expect(await failureOf(client.unary({ value: "hello" }, { headers: { "x-cached": "1" } }))).toMatchObject({
    rawMessage: "from the cache",
  });
  expect((await channels()).map(callsOf)).toEqual([[2, 2, 0]]);
});

describe.each(["1.1", "2"] as const)("observation over HTTP/%s", (httpVersion) => {
  test("stops on request, and the transport continues to work", async () => {
    const { baseUrl } = await serveEcho({ httpVersion });
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const nodeOptions = httpVersion === "1.1" ? { agent } : {};
    const options = observeTransport(registry, { baseUrl, httpVersion, nodeOptions } as TransportTo);
    const client = createClient(Echo, createConnectTransport(options));
    await client.unary({ value: "hello" });
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 1, sockets: 1 });
    expect(stopObserving(options)).toBe(true);
    expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 0 });
    await client.unary({ value: "hello" });
    expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 0 });
  });

  test("[CZ-D-LEAK-1] ends for 50 dropped transports, without a warning", async () => {
    const dropped: DroppedObject[] = [];
    registry = createRegistry({ maxClosed: 10, onDropped: (one) => dropped.push(one) });
    const { baseUrl, cut } = await serveEcho({ httpVersion });
    const use = async (): Promise<void> => {
      // Without keep-alive, or the next call could get a connection of the global agent that was just destroyed.
      const nodeOptions = httpVersion === "1.1" ? { agent: false } : {};
      const options = observeTransport(registry, { baseUrl, httpVersion, nodeOptions } as TransportTo);
      await createClient(Echo, createConnectTransport(options)).unary({ value: "hello" });
    };
    await Promise.all(Array.from({ length: 50 }, use));
    cut();
    await eventually(() => {
      globalThis.gc?.();
      expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 0 });
    });
    expect(dropped).toEqual([]);
  });
});
