import { Agent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { type Client, Code, ConnectError, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { allSucceeded, eventually, type Outcomes, oneFailed, Probe } from "../http/both-ends.test.helper.js";
import { certificate, unixPath } from "../sockets/connections.test.helper.js";
import { Echo, type EchoServer, type HttpVersion, serveEcho } from "./echo.test.helper.js";
import { observeTransport } from "./observe-transport.js";

type Protocol = "grpc" | "grpc-web" | "connect";

const ways: readonly (readonly [Protocol, HttpVersion])[] = [
  ["grpc", "2"],
  ["grpc-web", "2"],
  ["connect", "2"],
  ["grpc-web", "1.1"],
  ["connect", "1.1"],
];

interface Reach {
  readonly nodeOptions?: object;
  readonly interceptors?: Interceptor[];
}

function transportTo(
  registry: Registry,
  [protocol, httpVersion]: readonly [Protocol, HttpVersion],
  baseUrl: string,
  { nodeOptions, interceptors = [] }: Reach = {},
): Transport {
  if (httpVersion === "1.1") {
    const agent = baseUrl.startsWith("https") ? new HttpsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const options = { baseUrl, httpVersion, interceptors, nodeOptions: { agent, ...nodeOptions } } as const;
    const observed = observeTransport(registry, options);
    return protocol === "connect" ? createConnectTransport(observed) : createGrpcWebTransport(observed);
  }
  const sessionManager = new Http2SessionManager(baseUrl, {}, nodeOptions);
  onTestFinished(() => sessionManager.abort());
  const observed = observeTransport(registry, { baseUrl, httpVersion, interceptors, sessionManager });
  if (protocol === "grpc") return createGrpcTransport(observed);
  return protocol === "connect" ? createConnectTransport(observed) : createGrpcWebTransport(observed);
}

async function* questions(...values: string[]): AsyncGenerator<{ value: string }> {
  for (const value of values) yield { value };
}

function codeOf(call: Promise<unknown>): Promise<Code | undefined> {
  return call.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );
}

async function read(responses: AsyncIterable<{ value: string }>): Promise<string[]> {
  const values: string[] = [];
  for await (const { value } of responses) values.push(value);
  return values;
}

const asItShould: Outcomes = [1, 1, 0];
const cutShort: Outcomes = [1, 0, 1];

describe.each(ways)("%s over HTTP/%s", (protocol, httpVersion) => {
  let registry: Registry;
  let server: EchoServer;
  let client: Client<typeof Echo>;
  const way = [protocol, httpVersion] as const;

  beforeEach(async () => {
    registry = createRegistry();
    server = await serveEcho({ httpVersion, registry });
    client = createClient(Echo, transportTo(registry, way, server.baseUrl));
  });

  test("[CZ-DATA-4] [CZ-SOCKET-6] [CZ-SOCKET-8] counts a unary call that succeeds", async () => {
    expect(await client.unary({ value: "hello" })).toMatchObject({ value: "hello" });
    await (await Probe.of(registry)).expect(allSucceeded(1, 1, 1));
  });

  test("counts many concurrent calls", async () => {
    await Promise.all(Array.from({ length: 20 }, (_, i) => client.unary({ value: `${i}` })));
    await eventually(async () => {
      const { data } = (await registry.getTopChannels()).channel[0]!;
      expect([data?.callsStarted, data?.callsSucceeded]).toEqual([20n, 20n]);
      const shown = (await registry.getServers()).server[0]!.data!;
      expect([shown.callsStarted, shown.callsSucceeded]).toEqual([20n, 20n]);
    });
  });

  test("[CZ-DATA-5] [CZ-SOCKET-6] [CZ-SOCKET-8] counts a call that ends with an error, without counting a message", async () => {
    expect(await codeOf(client.unary({ value: "fail" }))).toBe(Code.FailedPrecondition);
    await (await Probe.of(registry)).expect(oneFailed(asItShould, 1, 0));
  });

  test("[CZ-DATA-5] [CZ-SOCKET-6] counts a call of an unknown method as failed", async () => {
    expect(await codeOf(client.missing({ value: "hello" }))).toBe(Code.Unimplemented);
    await (await Probe.of(registry)).expect({
      ...oneFailed(asItShould, 1, 0),
      // The server rejects the call without waiting for the request message.
      requestMessages: [1, expect.any(Number)],
    });
  });

  test("[CZ-SOCKET-8] counts a stream of responses", async () => {
    expect(await read(client.serverStream({ value: "say 5" }))).toHaveLength(5);
    await (await Probe.of(registry)).expect(allSucceeded(1, 1, 5));
  });

  test("[CZ-DATA-5] counts a stream of responses that ends with an error", async () => {
    expect(await codeOf(read(client.serverStream({ value: "fail 2" })))).toBe(Code.FailedPrecondition);
    // The client disconnects when it has read the error, which may be before the stream has ended.
    const clientStreams = protocol !== "grpc" && httpVersion === "2" ? expect.anything() : asItShould;
    await (await Probe.of(registry)).expect({ ...oneFailed(asItShould, 1, 2), clientStreams });
  });

  test("[CZ-SOCKET-8] counts a stream of requests", async () => {
    expect(await client.clientStream(questions("a", "b", "c"))).toMatchObject({ value: "a,b,c" });
    await (await Probe.of(registry)).expect(allSucceeded(1, 3, 1));
  });

  test("[CZ-SOCKET-8] counts alternating requests and responses, which HTTP/1.1 does not support", async () => {
    if (httpVersion === "2") {
      expect(await read(client.bidi(questions("a", "b", "c")))).toEqual(["a", "b", "c"]);
      await (await Probe.of(registry)).expect(allSucceeded(1, 3, 3));
    } else {
      const call = codeOf(read(client.bidi(questions("hang"))));
      expect(await call).toBe(Code.Unknown);
      const { data } = (await registry.getTopChannels()).channel[0]!;
      expect([data?.callsStarted, data?.callsSucceeded, data?.callsFailed]).toEqual([1n, 0n, 1n]);
      const shown = (await registry.getServers()).server[0]!.data!;
      expect([shown.callsStarted, shown.callsSucceeded, shown.callsFailed]).toEqual([1n, 0n, 1n]);
    }
  });

  test("[CZ-SOCKET-7] counts a unary call that the client cancels", async () => {
    const controller = new AbortController();
    const call = codeOf(client.unary({ value: "hang" }, { signal: controller.signal }));
    const probe = await Probe.of(registry);
    await probe.expect({ channelCalls: [1, 0, 0], serverCalls: [1, 0, 0] });
    await eventually(async () => expect((await probe.read()).requestMessages[1]).toBe(1));
    controller.abort();
    expect(await call).toBe(Code.Canceled);
    await probe.expect(oneFailed(cutShort, 1, 0));
  });

  test("[CZ-SOCKET-7] counts a stream of responses that the client cancels", async () => {
    const controller = new AbortController();
    const responses = client.serverStream({ value: "hang 2" }, { signal: controller.signal })[Symbol.asyncIterator]();
    await responses.next();
    await responses.next();
    const probe = await Probe.of(registry);
    await probe.expect({ responseMessages: [2, 2], channelCalls: [1, 0, 0], clientStreams: [1, 0, 0] });
    controller.abort();
    expect(await codeOf(responses.next())).toBe(Code.Canceled);
    await probe.expect(oneFailed(cutShort, 1, 2));
  });

  test("[CZ-SOCKET-7] counts a stream of responses that the client cancels without reading it", async () => {
    const controller = new AbortController();
    const responses = client.serverStream({ value: "hang 1" }, { signal: controller.signal })[Symbol.asyncIterator]();
    await responses.next();
    const probe = await Probe.of(registry);
    controller.abort();
    await probe.expect(oneFailed(cutShort, 1, 1));
  });

  test("counts a call that is cancelled before it starts as failed", async () => {
    await client.unary({ value: "first" });
    expect(await codeOf(client.unary({ value: "hello" }, { signal: AbortSignal.abort() }))).toBe(Code.Canceled);
    await (await Probe.of(registry)).expect({ channelCalls: [2, 1, 1] });
  });

  test("[CZ-SOCKET-6] counts a call that ends at a deadline only the server enforces", async () => {
    const header = protocol === "connect" ? "connect-timeout-ms" : "grpc-timeout";
    const headers = { [header]: protocol === "connect" ? "100" : "100m" };
    expect(await codeOf(client.unary({ value: "hang" }, { headers }))).toBe(Code.DeadlineExceeded);
    await (await Probe.of(registry)).expect(oneFailed(asItShould, 1, 0));
  });

  test("[CZ-SOCKET-7] counts calls on a connection that is lost as failed", async () => {
    const responses = client.serverStream({ value: "hang 3" })[Symbol.asyncIterator]();
    for (let i = 0; i < 3; i += 1) await responses.next();
    const probe = await Probe.of(registry);
    server.cut();
    expect(await codeOf(responses.next())).not.toBeUndefined();
    await probe.expect(oneFailed(cutShort, 1, 3));
    await eventually(() => expect(registry.size).toMatchObject({ sockets: 1 }));
    // The next call opens another connection.
    expect(await client.unary({ value: "again" })).toMatchObject({ value: "again" });
    await eventually(async () => {
      const { data } = (await registry.getTopChannels()).channel[0]!;
      expect([data?.callsStarted, data?.callsSucceeded, data?.callsFailed]).toEqual([2n, 1n, 1n]);
    });
  });

  test("[CZ-SEC-2] shows how a TLS connection is secured on both ends", async () => {
    const own = createRegistry();
    const { baseUrl } = await serveEcho({ httpVersion, isSecure: true, registry: own });
    const nodeOptions = { ca: certificate("ca.pem"), servername: "localhost" };
    const secure = createClient(Echo, transportTo(own, way, baseUrl, { nodeOptions }));
    await secure.unary({ value: "secret" });
    const probe = await Probe.of(own);
    await probe.expect(allSucceeded(1, 1, 1));
    const { client: ours, accepted } = await probe.objects();
    const [shown, seen] = [ours.security!.model, accepted.security!.model];
    if (shown.case !== "tls" || seen.case !== "tls") throw new TypeError("There is no TLS.");
    expect(shown.value.remoteCertificate).toEqual(seen.value.localCertificate);
    expect(shown.value.cipherSuite).toEqual(seen.value.cipherSuite);
  });

  test("[CZ-ADDR-4] shows the path of a Unix socket on both ends", async () => {
    const own = createRegistry();
    const path = unixPath();
    const { baseUrl } = await serveEcho({ httpVersion, path, registry: own });
    const nodeOptions = httpVersion === "2" ? { path } : { socketPath: path };
    const local = createClient(Echo, transportTo(own, way, baseUrl, { nodeOptions }));
    await local.unary({ value: "near" });
    const probe = await Probe.of(own);
    await probe.expect(allSucceeded(1, 1, 1));
    const { subchannel, client: ours, accepted } = await probe.objects();
    expect(subchannel.data?.target).toBe(`unix:${path}`);
    for (const address of [ours.remote?.address, accepted.local?.address]) {
      expect(address).toMatchObject({ case: "udsAddress", value: { filename: path } });
    }
  });
});

test("[CZ-SOCKET-7] counts a call that ends at a deadline only the client knows, in every protocol", async () => {
  const interceptors: Interceptor[] = [
    (next) => (request) => {
      request.header.delete("grpc-timeout");
      request.header.delete("connect-timeout-ms");
      return next(request);
    },
  ];
  const callOver = async (way: (typeof ways)[number]): Promise<void> => {
    const own = createRegistry();
    const { baseUrl } = await serveEcho({ httpVersion: way[1], registry: own });
    const impatient = createClient(Echo, transportTo(own, way, baseUrl, { interceptors }));
    const call = codeOf(impatient.unary({ value: "hang" }, { timeoutMs: 2000 }));
    const probe = await Probe.of(own);
    expect(await call).toBe(Code.DeadlineExceeded);
    await probe.expect(oneFailed(cutShort, 1, 0));
  };
  await Promise.all(ways.map(callOver));
});
