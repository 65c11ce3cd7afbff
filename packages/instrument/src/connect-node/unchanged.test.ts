import { Agent } from "node:http";
import { ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { expect, onTestFinished, test } from "vitest";
import { Echo, type HttpVersion, serveEcho } from "./echo.test.helper.js";
import { observeTransport, type TransportOptions } from "./observe-transport.js";

/** Everything that an application can see of calls of all kinds and outcomes, as text, in order. */
async function whatTheApplicationSees(
  httpVersion: HttpVersion,
  registry: Registry | undefined,
): Promise<Record<string, string[]>> {
  const seen: Record<string, string[]> = {};
  let current = "";
  const note = (what: string): void => {
    seen[current] ??= [];
    seen[current]!.push(what);
  };
  const noting: Interceptor = (next) => async (request) => {
    note(`calls ${request.method.name}`);
    const response = await next(request).catch((error: unknown) => {
      note(`interceptor caught ${ConnectError.from(error).message}`);
      throw error;
    });
    note(`response, stream ${response.stream}, keys ${Object.keys(response).sort()}`);
    return response;
  };
  const { baseUrl, cut } = await serveEcho({ httpVersion, ...(registry !== undefined && { registry }) });
  const agent = new Agent({ keepAlive: true });
  const sessionManager = new Http2SessionManager(baseUrl);
  onTestFinished(() => {
    agent.destroy();
    sessionManager.abort();
  });
  const options: TransportOptions =
    httpVersion === "2"
      ? { baseUrl, httpVersion, interceptors: [noting], sessionManager }
      : { baseUrl, httpVersion, interceptors: [noting], nodeOptions: { agent } };
  const used = registry === undefined ? options : observeTransport(registry, options);
  const transport =
    httpVersion === "2"
      ? createGrpcTransport(used as Parameters<typeof createGrpcTransport>[0])
      : createConnectTransport(used as Parameters<typeof createConnectTransport>[0]);
  const client = createClient(Echo, transport);

  async function* questions(...values: string[]): AsyncGenerator<{ value: string }> {
    try {
      for (const value of values) {
        note(`sends ${value}`);
        yield { value };
      }
    } finally {
      note("sent");
    }
  }
  const callOptions = {
    onHeader: (headers: Headers) => note(`headers ${[...headers.keys()].join()}`),
    onTrailer: (trailers: Headers) => note(`trailers ${[...trailers.keys()].join()}`),
  };
  const unary = async (value: string, more: object = {}): Promise<void> =>
    note(`got ${(await client.unary({ value }, { ...callOptions, ...more })).value}`);
  const read = async (responses: AsyncIterable<{ value: string }>, onResponse?: () => void): Promise<void> => {
    for await (const { value } of responses) {
      note(`read ${value}`);
      onResponse?.();
    }
  };
  const cases: Record<string, () => Promise<void>> = {
    unary: () => unary("hello"),
    error: () => unary("fail"),
    missing: async () => note(`got ${(await client.missing({ value: "" }, callOptions)).value}`),
    cancel: () => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 50);
      return unary("hang", { signal: controller.signal });
    },
    deadline: () => unary("hang", { timeoutMs: 50 }),
    aborted: () => unary("hello", { signal: AbortSignal.abort(new Error("no")) }),
    "server stream": () => read(client.serverStream({ value: "say 3" }, callOptions)),
    "server stream that fails": () => read(client.serverStream({ value: "fail 3" }, callOptions)),
    "server stream that is cancelled": () => {
      const controller = new AbortController();
      const responses = client.serverStream({ value: "hang 1" }, { signal: controller.signal, ...callOptions });
      return read(responses, () => controller.abort());
    },
    "client stream": async () => note(`got ${(await client.clientStream(questions("a", "b"), callOptions)).value}`),
    "client stream that fails": async () =>
      note(`got ${(await client.clientStream(questions("fail"), callOptions)).value}`),
    "connection that is lost": () => read(client.serverStream({ value: "hang 1" }, callOptions), () => cut()),
    "next call": () => unary("hello"),
  };
  if (httpVersion === "2") cases.bidi = () => read(client.bidi(questions("a", "b", "c"), callOptions));
  for (const [name, run] of Object.entries(cases)) {
    current = name;
    await run().catch((error: unknown) => {
      const { code, message, cause } = ConnectError.from(error);
      note(`failed ${code} ${message} ${cause instanceof Error ? cause.message : cause}`);
    });
  }
  return seen;
}

test.each(["1.1", "2"] as const)(
  "delivers the same responses, errors and order to an application with and without the instrument, over HTTP/%s",
  async (httpVersion) => {
    const plain = await whatTheApplicationSees(httpVersion, undefined);
    const observed = await whatTheApplicationSees(httpVersion, createRegistry());
    expect(observed).toEqual(plain);
    expect(Object.keys(plain).length).toBeGreaterThan(12);
  },
);
