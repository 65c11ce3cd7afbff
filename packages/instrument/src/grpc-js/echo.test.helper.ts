import { once } from "node:events";
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { onTestFinished } from "vitest";

export interface Text {
  readonly text: string;
}

type Callback = (error: grpc.ServiceError | null, response?: Text) => void;

export interface EchoClient extends grpc.Client {
  unary(request: Text, callback: Callback): grpc.ClientUnaryCall;
  unary(request: Text, options: grpc.CallOptions, callback: Callback): grpc.ClientUnaryCall;
  expand(request: Text, options?: grpc.CallOptions): grpc.ClientReadableStream<Text>;
  collect(callback: Callback): grpc.ClientWritableStream<Text>;
  chat(): grpc.ClientDuplexStream<Text, Text>;
  missing(request: Text, callback: Callback): grpc.ClientUnaryCall;
}

interface EchoConstructor {
  new (target: string, credentials: grpc.ChannelCredentials, options?: grpc.ClientOptions): EchoClient;
  readonly service: grpc.ServiceDefinition;
}

const file = fileURLToPath(new URL("testdata/echo.proto", import.meta.url));
const root = grpc.loadPackageDefinition(loadSync(file)) as unknown as {
  readonly wirescope: { readonly test: { readonly Echo: EchoConstructor } };
};
export const Echo: EchoConstructor = root.wirescope.test.Echo;

function trailers(): grpc.Metadata {
  const metadata = new grpc.Metadata();
  metadata.set("x-reason", "requested");
  return metadata;
}

const failure = { code: grpc.status.FAILED_PRECONDITION, details: "as requested", metadata: trailers() };

const { missing: _, ...implemented } = Echo.service;

/** `fail` returns an error, `hang` nothing, a number that many messages, everything else itself. */
const handlers: grpc.UntypedServiceImplementation = {
  unary(call: grpc.ServerUnaryCall<Text, Text>, done: grpc.sendUnaryData<Text>) {
    const { text } = call.request;
    if (text === "fail") done(failure);
    else if (text !== "hang") done(null, { text });
  },
  expand(call: grpc.ServerWritableStream<Text, Text>) {
    const { text } = call.request;
    for (let i = 0; i < (Number.parseInt(text, 10) || 1); i += 1) call.write({ text });
    if (text.endsWith("fail")) call.emit("error", failure);
    else if (!text.endsWith("hang")) call.end();
  },
  collect(call: grpc.ServerReadableStream<Text, Text>, done: grpc.sendUnaryData<Text>) {
    const texts: string[] = [];
    call.on("data", ({ text }: Text) => texts.push(text));
    call.on("end", () => (texts.includes("fail") ? done(failure) : done(null, { text: texts.join() })));
  },
  chat(call: grpc.ServerDuplexStream<Text, Text>) {
    call.on("data", ({ text }: Text) => (text === "fail" ? call.emit("error", failure) : call.write({ text })));
    call.on("end", () => call.end());
  },
};

export interface Served {
  readonly server: grpc.Server;
  /** The target for a client. */
  readonly target: string;
}

/** Starts a server at an address, until the test ends. */
export async function serve(
  address = "127.0.0.1:0",
  credentials: grpc.ServerCredentials = grpc.ServerCredentials.createInsecure(),
  options: grpc.ServerOptions = {},
): Promise<Served> {
  const server = new grpc.Server(options);
  server.addService(implemented, handlers);
  onTestFinished(() => server.forceShutdown());
  return { server, target: await bind(server, address, credentials) };
}

/** Binds a server to another address. */
export async function bind(
  server: grpc.Server,
  address: string,
  credentials: grpc.ServerCredentials = grpc.ServerCredentials.createInsecure(),
): Promise<string> {
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  return address.replace(/:0$/, `:${port}`);
}

/** Forwards all bytes to a port; `cut` resets the connections like a network failure. */
export async function passThrough(port: number): Promise<{ readonly port: number; cut(): void }> {
  const sockets = new Set<Socket>();
  const proxy = createServer((from) => {
    const to = connectSocket(port, "127.0.0.1");
    from.pipe(to).pipe(from);
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  onTestFinished(() => {
    cut();
    proxy.close();
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return { port: (proxy.address() as AddressInfo).port, cut };
}

/** Creates a client, until the test ends. Back-off is short, for tests that wait for it. */
export function connect(
  target: string,
  credentials: grpc.ChannelCredentials = grpc.credentials.createInsecure(),
  options: grpc.ClientOptions = {},
): EchoClient {
  const client = new Echo(target, credentials, {
    "grpc.initial_reconnect_backoff_ms": 50,
    "grpc.max_reconnect_backoff_ms": 50,
    // Or a server that reuses a port could be reached through the subchannel of another test.
    "grpc.use_local_subchannel_pool": 1,
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

/** The result of a call as the application sees it: its messages, its error, and the trailers. */
export interface Seen {
  readonly texts: readonly string[];
  readonly code: number;
  readonly details?: string;
  readonly reason?: grpc.MetadataValue | undefined;
}

export async function unary(client: EchoClient, text = "hello", options: grpc.CallOptions = {}): Promise<Seen> {
  return await new Promise((resolve) => {
    client.unary({ text }, options, (error, response) => resolve(seen(error, response)));
  });
}

export async function missing(client: EchoClient): Promise<Seen> {
  return await new Promise((resolve) => {
    client.missing({ text: "" }, (error, response) => resolve(seen(error, response)));
  });
}

export async function expand(client: EchoClient, text: string): Promise<Seen> {
  return await readAll(client.expand({ text }));
}

export async function collect(client: EchoClient, ...texts: string[]): Promise<Seen> {
  return await new Promise((resolve) => {
    const call = client.collect((error, response) => resolve(seen(error, response)));
    for (const text of texts) call.write({ text });
    call.end();
  });
}

export async function chat(client: EchoClient, ...texts: string[]): Promise<Seen> {
  const call = client.chat();
  for (const text of texts) call.write({ text });
  call.end();
  return await readAll(call);
}

/** Reads a stream of responses to its end. */
export async function readAll(
  call: grpc.ClientReadableStream<Text> | grpc.ClientDuplexStream<Text, Text>,
): Promise<Seen> {
  const texts: string[] = [];
  return await new Promise((resolve) => {
    call.on("data", ({ text }: Text) => texts.push(text));
    call.on("error", (error: grpc.ServiceError) => resolve({ ...seen(error), texts }));
    call.on("end", () => resolve({ texts, code: grpc.status.OK }));
  });
}

function seen(error: grpc.ServiceError | null, response?: Text): Seen {
  if (error === null) return { texts: response ? [response.text] : [], code: grpc.status.OK };
  const { code, details, metadata } = error;
  return { texts: [], code, details, reason: metadata.get("x-reason")[0] };
}
