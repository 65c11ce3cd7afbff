import { hasSubscribers, subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer, type RequestListener } from "node:http";
import { createSecureServer } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createRegistry, type Registry } from "@wirescope/channelz";
import * as undici7 from "undici";
import * as undici6 from "undici-6";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { claimSocket } from "../claimed-sockets.js";
import { callsOf, eventually, stateOf, statesOf } from "../http/both-ends.test.helper.js";
import { channelsOf, subchannelsOf } from "../http/client-requests.test.helper.js";
import { observeProcess } from "../process/observe-process.js";
import { certificate, listening, portOf, serverIdentity, unixPath } from "../sockets/connections.test.helper.js";
import { nativeSockets } from "../sockets/native.js";
import { observeUndici, type UndiciObservation } from "./observe-undici.js";

let registry: Registry;
let observation: UndiciObservation;

beforeEach(() => {
  registry = createRegistry();
  observation = observeUndici(registry);
});

afterEach(() => observation.stop());

/** The origin under test; undici may still connect to that of an earlier test. */
let target = "";

function urlOf(server: Server, scheme = "http"): string {
  target = `${scheme}://127.0.0.1:${portOf(server)}`;
  return target;
}

async function serve(listener: RequestListener): Promise<{ origin: string; close: () => void }> {
  const server = await listening(createServer(listener), { host: "127.0.0.1" });
  return { origin: urlOf(server), close: () => server.closeAllConnections() };
}

/** The one channel of the origin, with the first subchannel and socket below it. */
async function only() {
  const [channel, ...others] = (await channelsOf(registry)).filter(({ data }) => data?.target === target);
  expect([channel !== undefined, others]).toEqual([true, []]);
  const [subchannel] = await subchannelsOf(registry, channel!);
  const ref = subchannel?.socketRef[0];
  const socket = ref && (await registry.getSocket(ref.socketId)).socket;
  return { channel: channel!, subchannel, socket };
}

interface Copy {
  readonly fetch: (url: string, init?: object) => Promise<Response>;
  /** A dispatcher of its own, so that tests do not share connections. */
  readonly dispatcher: (options?: object) => object | undefined;
}

const copies: Readonly<Record<string, Copy>> = {
  "the global fetch": {
    fetch: (url, init) => fetch(url, init),
    // A dispatcher of another copy would make the requests itself, so one is used only for options that the global one lacks.
    dispatcher: (options) => options && closing(new undici6.Agent(options)),
  },
  "undici 6": {
    fetch: (url, init) => undici6.fetch(url, init) as unknown as Promise<Response>,
    dispatcher: (options) => closing(new undici6.Agent(options)),
  },
  "undici 7": {
    fetch: (url, init) => undici7.fetch(url, init) as unknown as Promise<Response>,
    dispatcher: (options) => closing(new undici7.Agent(options)),
  },
};

function closing<T extends { destroy(): Promise<void> }>(dispatcher: T): T {
  onTestFinished(() => dispatcher.destroy());
  return dispatcher;
}

describe.each(Object.entries(copies))("%s", (_name, copy) => {
  test("[CZ-D-TARGET-1] shows a channel for the origin, and its connection with addresses, calls and messages", async () => {
    const { origin, close } = await serve((request, response) => {
      request.resume().on("end", () => response.end("hello"));
    });
    const dispatcher = copy.dispatcher();
    await (await copy.fetch(origin, { method: "POST", body: "question", dispatcher })).text();
    await (await copy.fetch(origin, { dispatcher })).text();
    await eventually(async () => expect(callsOf((await only()).channel)).toEqual([2, 2, 0]));
    const { channel, subchannel, socket } = await only();
    expect(channel.data?.target).toBe(origin);
    expect(statesOf(channel)).toEqual(["IDLE -> CONNECTING", "CONNECTING -> READY"]);
    expect([subchannel?.data?.target, callsOf(subchannel!)]).toEqual([new URL(origin).host, [2, 2, 0]]);
    expect(socket?.remote?.address.value).toMatchObject({ port: Number(new URL(origin).port) });
    expect(socket?.local?.address.case).toBe("tcpipAddress");
    // The second request may have had a connection of its own.
    const sockets = await Promise.all(subchannel!.socketRef.map(({ socketId }) => registry.getSocket(socketId)));
    const total = (key: "streamsStarted" | "streamsSucceeded" | "messagesSent" | "messagesReceived"): bigint =>
      sockets.reduce((sum, { socket: one }) => sum + (one?.data?.[key] ?? 0n), 0n);
    expect([total("streamsStarted"), total("streamsSucceeded")]).toEqual([2n, 2n]);
    expect([total("messagesSent"), total("messagesReceived")]).toEqual([1n, 2n]);
    close();
    await eventually(async () => expect(stateOf((await only()).channel)).toBe("IDLE"));
  });

  test("[CZ-SOCKET-4] omits a remote name that the target already contains", async () => {
    const { origin } = await serve((_request, response) => response.end("hello"));
    target = origin.replace("127.0.0.1", "localhost");
    await (await copy.fetch(target, { dispatcher: copy.dispatcher() })).text();
    const { socket } = await only();
    expect([socket?.remoteName, socket?.remote?.address.case]).toEqual(["", "tcpipAddress"]);
  });

  test("counts a status of 400 or above as a failed call on a healthy connection", async () => {
    const { origin } = await serve((_request, response) => response.writeHead(503).end());
    await (await copy.fetch(origin, { dispatcher: copy.dispatcher() })).text();
    await eventually(async () => expect(callsOf((await only()).channel)).toEqual([1, 0, 1]));
    const { channel, socket } = await only();
    expect(stateOf(channel)).toBe("READY");
    expect(socket?.data).toMatchObject({ streamsSucceeded: 1n, streamsFailed: 0n });
  });

  test("[CZ-D-STATE-4] shows a target that refuses connections as TRANSIENT_FAILURE with the cause", async () => {
    const server = await listening(createServer(), { host: "127.0.0.1" });
    const port = portOf(server);
    const url = urlOf(server);
    await new Promise((resolve) => server.close(resolve));
    await expect(copy.fetch(url, { dispatcher: copy.dispatcher() })).rejects.toThrow();
    await eventually(async () => expect(stateOf((await only()).channel)).toBe("TRANSIENT_FAILURE"));
    const { channel, subchannel } = await only();
    expect(callsOf(channel)).toEqual([1, 0, 1]);
    const cause = `CONNECTING -> TRANSIENT_FAILURE: connect ECONNREFUSED 127.0.0.1:${port}`;
    expect(statesOf(channel).at(-1)).toBe(cause);
    expect([subchannel?.data?.target, statesOf(subchannel!).at(-1)]).toEqual([`127.0.0.1:${port}`, cause]);
  });

  test("[CZ-SOCKET-7] counts a request that the application aborts as failed, and does not blame the target", async () => {
    let isAsked = false;
    const { origin } = await serve(() => {
      isAsked = true;
    });
    const controller = new AbortController();
    const response = copy.fetch(origin, { dispatcher: copy.dispatcher(), signal: controller.signal });
    await expect.poll(() => isAsked).toBe(true);
    const { socket } = await only();
    controller.abort();
    await expect(response).rejects.toThrow();
    const { socketId } = socket!.ref!;
    await eventually(async () => expect(statesOf((await only()).channel)).toContain("READY -> IDLE"));
    const { channel } = await only();
    expect(callsOf(channel)).toEqual([1, 0, 1]);
    // undici connects again at once, although nothing is left to send.
    expect(statesOf(channel).slice(0, 3)).toEqual(["IDLE -> CONNECTING", "CONNECTING -> READY", "READY -> IDLE"]);
    expect(statesOf(channel).join()).not.toContain("TRANSIENT_FAILURE");
    const { data } = (await registry.getSocket(socketId)).socket!;
    expect(data).toMatchObject({ streamsStarted: 1n, streamsSucceeded: 0n, streamsFailed: 1n });
  });

  test("does not blame the target for a timeout of the application", async () => {
    const { origin } = await serve(() => {});
    const dispatcher = copy.dispatcher({ headersTimeout: 50 });
    await expect(copy.fetch(origin, { dispatcher })).rejects.toThrow();
    await eventually(async () => expect(statesOf((await only()).channel)).toContain("READY -> IDLE"));
    const { channel } = await only();
    expect(callsOf(channel)).toEqual([1, 0, 1]);
    expect(statesOf(channel).join()).not.toContain("TRANSIENT_FAILURE");
  });

  test("shows a target that does not speak HTTP as a failure of the target", async () => {
    const server = createTcpServer((socket: Socket) => {
      socket.on("error", () => {}).once("data", () => socket.write("SSH-2.0-server\r\n"));
    });
    await listening(server, { host: "127.0.0.1" });
    const url = urlOf(server);
    await expect(copy.fetch(url, { dispatcher: copy.dispatcher() })).rejects.toThrow();
    await eventually(async () => expect(stateOf((await only()).channel)).toBe("TRANSIENT_FAILURE"));
    expect(statesOf((await only()).channel).at(-1)).toMatch(/^READY -> TRANSIENT_FAILURE: .*HTTP/);
  });

  test("shows a connection that the target resets during a request as a failure of the target", async () => {
    const server = createTcpServer((socket: Socket) => {
      socket.on("error", () => {}).once("data", () => socket.resetAndDestroy());
    });
    await listening(server, { host: "127.0.0.1" });
    const url = urlOf(server);
    await expect(copy.fetch(url, { dispatcher: copy.dispatcher() })).rejects.toThrow();
    await eventually(async () => expect(stateOf((await only()).channel)).toBe("TRANSIENT_FAILURE"));
    const { channel } = await only();
    expect(callsOf(channel)).toEqual([1, 0, 1]);
    expect(statesOf(channel).at(-1)).toMatch(/^READY -> TRANSIENT_FAILURE: .*(ECONNRESET|other side closed)/);
  });

  test("[CZ-D-MSG-1] counts the envelopes of a stream, and takes its outcome from the last", async () => {
    const envelope = (flag: number, text: string): Buffer => {
      const head = Buffer.from([flag, 0, 0, 0, text.length]);
      return Buffer.concat([head, Buffer.from(text)]);
    };
    const type = "application/connect+json";
    const { origin } = await serve((request, response) => {
      response.writeHead(200, { "content-type": type });
      response.write(envelope(0, "{}"));
      response.write(envelope(0, "{}"));
      request.resume().on("end", () => response.end(envelope(2, '{"error":{"code":"aborted"}}')));
    });
    const body = Buffer.concat([envelope(0, "{}"), envelope(0, "{}"), envelope(0, "{}")]);
    const init = { method: "POST", headers: { "content-type": type }, body, dispatcher: copy.dispatcher() };
    await (await copy.fetch(origin, init)).arrayBuffer();
    await eventually(async () => expect(callsOf((await only()).channel)).toEqual([1, 0, 1]));
    expect((await only()).socket?.data).toMatchObject({ messagesSent: 3n, messagesReceived: 2n, streamsSucceeded: 1n });
  });

  test("[CZ-SEC-1] shows how a connection over TLS is secured", async () => {
    const server = await listening(
      createHttpsServer(serverIdentity, (_request, response) => response.end("secret")),
      { host: "127.0.0.1" },
    );
    const dispatcher = copy.dispatcher({ connect: { ca: certificate("ca.pem"), servername: "localhost" } });
    await (await copy.fetch(urlOf(server, "https"), { dispatcher })).text();
    await eventually(async () => expect(callsOf((await only()).channel)).toEqual([1, 1, 0]));
    expect((await only()).socket?.security?.model.case).toBe("tls");
  });
});

test("does not show a connection twice that another observer shows", async () => {
  const { origin } = await serve((_request, response) => response.end("hello"));
  const agent = closing(
    new undici7.Agent({
      connect: (options, callback) => {
        undici7.buildConnector({})(options, (...[error, socket]) => {
          if (socket !== null) claimSocket(socket);
          if (error === null) callback(null, socket as Socket);
          else callback(error, null);
        });
      },
    }),
  );
  await (await undici7.fetch(origin, { dispatcher: agent })).text();
  expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 0 });
});

test("moves a connection to another observer that claims it later", async () => {
  const { origin } = await serve((_request, response) => response.end("hello"));
  const client = closing(new undici7.Client(origin));
  let socket: Socket | undefined;
  const onConnected = (message: unknown): void => {
    socket = (message as { socket: Socket }).socket;
  };
  subscribe("undici:client:connected", onConnected);
  onTestFinished(() => void unsubscribe("undici:client:connected", onConnected));
  await (await client.request({ path: "/", method: "GET" })).body.text();
  expect(registry.size.sockets).toBe(1);
  claimSocket(socket!);
  expect(registry.size.sockets).toBe(0);
  await (await client.request({ path: "/", method: "GET" })).body.text();
  expect(registry.size.sockets).toBe(0);
});

test("counts a request that is upgraded to WebSocket until its connection ends", async () => {
  const server = createServer();
  let connection: Socket | undefined;
  server.on("upgrade", (_request, socket: Socket) => {
    connection = socket;
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
  });
  await listening(server, { host: "127.0.0.1" });
  for (const Client of [undici6.Client as unknown as typeof undici7.Client, undici7.Client]) {
    const client = closing(new Client(urlOf(server)));
    const { socket } = await client.upgrade({ path: "/", protocol: "echo" });
    const { channel } = await only();
    expect(stateOf(channel)).toBe("READY");
    const [started, succeeded, failed] = callsOf(channel);
    expect([started! - succeeded!, failed]).toEqual([1, 0]);
    connection?.end();
    socket.resume().end();
    await eventually(async () => expect(callsOf((await only()).channel)).toEqual([started, started, 0]));
  }
});

test("shows requests over HTTP/2 once, by the observation of node:http2", async () => {
  observation.stop();
  const server = createSecureServer(serverIdentity, (_request, response) => response.end("hello"));
  await listening(server, { host: "127.0.0.1" });
  const whole = observeProcess(registry, { http: false });
  onTestFinished(() => whole.stop());
  const connect = { ca: certificate("ca.pem"), servername: "localhost" };
  const agent = closing(new undici7.Agent({ allowH2: true, connect }));
  const url = urlOf(server, "https");
  for (let n = 0; n < 3; n += 1) await (await undici7.fetch(url, { dispatcher: agent })).text();
  await eventually(async () => {
    expect((await channelsOf(registry)).map(callsOf)).toEqual([[3, 3, 0]]);
  });
});

test("closes the channels when it stops, and then observes no request", async () => {
  const { origin } = await serve((_request, response) => response.end("hello"));
  await (await fetch(origin)).text();
  expect(registry.size.channels).toBe(1);
  observation.stop();
  expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 0 });
  expect(hasSubscribers("undici:request:create")).toBe(false);
  await (await fetch(origin)).text();
  expect(registry.size.channels).toBe(0);
});

test("leaves no channel connecting after a client is destroyed while it connects", async () => {
  target = "http://127.0.0.1:9";
  const client = new undici7.Client(target, { connect: () => {} });
  const response = client.request({ path: "/", method: "GET" });
  await eventually(async () => expect(stateOf((await only()).channel)).toBe("CONNECTING"));
  const refused = expect(response).rejects.toThrow();
  await client.destroy();
  await refused;
  await eventually(async () => expect(stateOf((await only()).channel)).toBe("IDLE"));
});

test("shows the global fetch in observeProcess, and publishes nothing in a process that is not observed", async () => {
  observation.stop();
  const whole = observeProcess(registry);
  onTestFinished(() => whole.stop());
  const { origin } = await serve((_request, response) => response.end("hello"));
  await (await fetch(origin)).text();
  await eventually(async () => {
    expect((await channelsOf(registry)).map(({ data }) => data?.target)).toContain(origin);
  });
  whole.stop();
  expect(hasSubscribers("undici:request:create")).toBe(false);
});

test.runIf(nativeSockets() !== undefined).each(Object.entries(copies))(
  "[CZ-ADDR-4] [CZ-DATA-1] shows the path of a Unix socket as the target of the channel and its subchannel with %s",
  async (_name, { fetch, dispatcher }) => {
    const path = unixPath();
    await listening(
      createServer((_request, response) => response.end("hello")),
      { path },
    );
    target = `unix:${path}`;
    const options = { dispatcher: dispatcher({ connect: { socketPath: path } }) };
    for (let call = 0; call < 2; call += 1) await (await fetch("http://localhost/", options)).text();
    const { channel, subchannel, socket } = await only();
    expect(subchannel!.data!.target).toBe(target);
    expect(socket!.remote!.address).toMatchObject({ case: "udsAddress", value: { filename: path } });
    await eventually(async () => expect(callsOf((await only()).channel)).toEqual([2, 2, 0]));
    expect(stateOf(channel)).toBe("READY");
    expect((await channelsOf(registry)).filter(({ data }) => data?.target === "http://localhost")).toEqual([]);
  },
);
