import { type EventEmitter, once } from "node:events";
import { Agent, createServer, type IncomingMessage, type RequestOptions, request } from "node:http";
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  constants,
  createServer as createHttp2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { connect, type LookupFunction, type Server, type Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { expect, onTestFinished, test } from "vitest";
import { listening, portOf } from "../sockets/connections.test.helper.js";
import { collectWarnings } from "../warnings.test.helper.js";
import { observeProcess } from "./observe-process.js";

const addings = ["addChannel", "addSubchannel", "addSocket", "addServer", "addListenSocket"] as const;

/** Makes a method throw until the test ends, or only if its first argument is `argument`. */
function breakMethod(subject: object, method: string, argument?: string): void {
  const original = Reflect.get(subject, method) as (...args: unknown[]) => unknown;
  Object.defineProperty(subject, method, {
    configurable: true,
    value(...args: unknown[]) {
      if (argument !== undefined && args[0] !== argument) return original.apply(subject, args);
      throw new Error(`${method} failed`);
    },
  });
  onTestFinished(() => void Reflect.deleteProperty(subject, method));
}

/** A registry that cannot add one kind of object. */
function brokenRegistry(method: (typeof addings)[number]): Registry {
  const registry = createRegistry();
  breakMethod(registry, method);
  return registry;
}

/** A registry whose objects have a method that throws, or throws only with one argument. */
function registryWithBroken(method: string, argument?: string): Registry {
  const registry = createRegistry();
  for (const adding of addings) {
    const add = registry[adding].bind(registry) as (options: object) => object;
    Object.defineProperty(registry, adding, {
      value(options: object) {
        const handle = add(options);
        if (method in handle) breakMethod(handle, method, argument);
        return handle;
      },
    });
  }
  return registry;
}

async function bodyOverHttp1(options: RequestOptions): Promise<string> {
  const sent = request({ host: "127.0.0.1", method: "POST", ...options }).end("hi");
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return text(response);
}

async function bodyOverHttp2(port: number): Promise<string> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const body = await text(session.request({ ":method": "POST" }).end("hi"));
  session.close();
  await once(session, "close");
  return body;
}

test.each(addings)("servers and clients work unobserved if %s of the registry throws", async (method) => {
  const warnings = collectWarnings();
  const observation = observeProcess(brokenRegistry(method));
  onTestFinished(() => observation.stop());
  const port = portOf(await listening(createServer((_request, response) => response.end("hello"))));
  const http2Port = portOf(await listening(createHttp2Server((_request, response) => response.end("hello"))));
  const createConnection = () => connect(port, "127.0.0.1");
  expect([
    await bodyOverHttp1({ port }),
    await bodyOverHttp1({ port, createConnection }),
    await bodyOverHttp2(http2Port),
    await (await fetch(`http://127.0.0.1:${port}`)).text(),
  ]).toEqual(["hello", "hello", "hello", "hello"]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings.filter((message) => !message.includes("not shown"))).toEqual([]);
});

/** Two messages in envelopes, which are counted when they are written and read, and one body that is a message. */
const bodies = [
  ["application/connect+json", Buffer.from("\0\0\0\0\x02{}\0\0\0\0\x02{}")],
  ["text/plain", Buffer.from("a body")],
] as const;

/** The first address refuses the connection. */
const lookup: LookupFunction = (_host, _options, callback) =>
  void setImmediate(() =>
    callback(
      null,
      ["127.0.0.2", "127.0.0.1"].map((address) => ({ address, family: 4 })),
    ),
  );

/** Waits for the event "close", also after an error. */
function closing(emitter: EventEmitter): Promise<unknown> {
  return new Promise((resolve) => emitter.once("close", resolve));
}

async function close(server: Server): Promise<void> {
  const closed = closing(server);
  server.close();
  await closed;
}

/** Sends both bodies over each protocol to a server that returns them, closes everything, and returns the received bodies. */
async function exchangeBodies(): Promise<string[]> {
  const received: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    response.writeHead(200, { "content-type": request.headers["content-type"] });
    response.write(body.subarray(0, 7), () => response.end(body.subarray(7)));
  });
  const http2Server = createHttp2Server();
  const accepted = new Promise<unknown>((resolve) => http2Server.once("session", (each) => resolve(closing(each))));
  http2Server.on("stream", async (stream, headers) => {
    const body = await buffer(stream);
    stream.respond({ "content-type": headers["content-type"] }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-end": "1" }));
    stream.write(body.subarray(0, 7), () => stream.end(body.subarray(7)));
  });
  const [port, http2Port] = [portOf(await listening(server)), portOf(await listening(http2Server))];
  // The second request uses the connection of the first.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const session = connectHttp2(`http://127.0.0.1:${http2Port}`);
  for (const [type, body] of bodies) {
    const headers = { "content-type": type };
    const sent = request({ host: "two-addresses.test", port, lookup, agent, headers, method: "POST" });
    await new Promise((resolve) => sent.write(body.subarray(0, 7), resolve));
    sent.end(body.subarray(7));
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    received.push(await text(response));
    const stream = session.request({ ":method": "POST", ...headers });
    await new Promise((resolve) => stream.write(body.subarray(0, 7), resolve));
    received.push(await text(stream.end(body.subarray(7))));
    const fetched = await fetch(`http://127.0.0.1:${port}`, {
      method: "POST",
      headers: { ...headers, connection: "close" },
      body,
    });
    received.push(await fetched.text());
  }
  await new Promise((resolve) => session.ping(resolve));
  session.close();
  agent.destroy();
  // Before the server, which would stop the observation of its sessions.
  await Promise.all([closing(session), accepted]);
  await Promise.all([close(server), close(http2Server)]);
  return received;
}

test.each([
  "setState",
  "link",
  "trace",
  "callStarted",
  "callSucceeded",
  "localStreamStarted",
  "remoteStreamStarted",
  "streamSucceeded",
  "messageSent",
  "messageReceived",
  "keepAliveSent",
  "close",
])("servers and clients work unobserved if %s of an object in the registry throws", async (method) => {
  const warnings = collectWarnings();
  // Registered first, so that it runs after the methods are repaired.
  onTestFinished(() => observation.stop());
  const observation = observeProcess(registryWithBroken(method));
  const expected = bodies.flatMap(([, body]) => [String(body), String(body), String(body)]);
  expect(await exchangeBodies()).toEqual(expected);
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings.filter((message) => !message.includes("not shown"))).toEqual([]);
});

test("requests and responses work unobserved if their headers cannot be read", async () => {
  const warnings = collectWarnings();
  const observation = observeProcess(createRegistry());
  onTestFinished(() => observation.stop());
  const [[type, body]] = bodies;
  const server = createServer(async (request, response) => {
    const received = await buffer(request);
    response.setHeader("content-type", type);
    breakMethod(response, "getHeader");
    response.write(received.subarray(0, 7));
    response.end(received.subarray(7));
  });
  const port = portOf(await listening(server));
  const sent = request({ host: "127.0.0.1", port, method: "POST", headers: { "content-type": type } });
  breakMethod(sent, "getHeader");
  sent.write(body.subarray(0, 7));
  sent.end(body.subarray(7));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(await buffer(response)).toEqual(body);
  expect(warnings.filter((message) => !message.includes("not shown"))).toEqual([]);
});

test.each<[string, string | undefined]>([
  ["setState", "CONNECTING"],
  ["setState", "TRANSIENT_FAILURE"],
  ["trace", undefined],
])(
  "reports failed connections to their clients if %s of an object with the argument %s throws",
  async (method, argument) => {
    const warnings = collectWarnings();
    // Registered first, so that it runs after the methods are repaired.
    onTestFinished(() => observation.stop());
    const observation = observeProcess(registryWithBroken(method, argument));
    const server = createServer();
    const port = portOf(await listening(server));
    await close(server);
    const refused = { code: "ECONNREFUSED" };
    await expect(once(request({ host: "two-addresses.test", port, lookup }).end(), "response")).rejects.toMatchObject({
      errors: [refused, refused],
    });
    const session = connectHttp2(`http://two-addresses.test:${port}`, { lookup });
    const closed = closing(session);
    await expect(once(session, "connect")).rejects.toMatchObject({ errors: [refused, refused] });
    await closed;
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toMatchObject({ cause: refused });
    expect(warnings.filter((message) => !message.includes("not shown"))).toEqual([]);
  },
);

test("HTTP/2 sessions that fail are closed on both sides if trace of an object in the registry throws", async () => {
  const warnings = collectWarnings();
  // Registered first, so that it runs after the methods are repaired.
  onTestFinished(() => observation.stop());
  const observation = observeProcess(registryWithBroken("trace"));
  /** Opens a session with a request in progress to a new server, and waits until both sides are closed. */
  const failBy = async (fail: (client: ClientHttp2Session, accepted: ServerHttp2Session, raw: Socket) => void) => {
    const server = createHttp2Server();
    const port = portOf(await listening(server));
    const raw = connect(port, "127.0.0.1");
    const client = connectHttp2(`http://127.0.0.1:${port}`, { createConnection: () => raw });
    const stream = client.request();
    for (const each of [client, stream]) each.on("error", () => {});
    const [served] = (await once(server, "stream")) as [ServerHttp2Stream];
    const accepted = served.session as ServerHttp2Session;
    for (const each of [served, accepted]) each.on("error", () => {});
    const closed = [client, accepted].map(closing);
    fail(client, accepted, raw);
    await Promise.all(closed);
    await close(server);
  };
  const protocolError = constants.NGHTTP2_PROTOCOL_ERROR;
  await failBy((_client, _accepted, raw) => raw.resetAndDestroy());
  await failBy((_client, accepted) => accepted.goaway(protocolError));
  await failBy((client) => client.goaway(protocolError));
  await failBy((_client, accepted) => accepted.destroy(new Error("failed"), protocolError));
  await failBy((_client, accepted) => accepted.destroy(new Error("failed")));
  await failBy((client) => client.destroy(new Error("failed"), protocolError));
  expect(warnings.filter((message) => !message.includes("not shown"))).toEqual([]);
});
