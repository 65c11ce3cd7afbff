// A grpc-js process: node program.mjs '{"mode": …}'. It prints "port N" if it serves, or "up".
import { connect, createServer as createHttp2Server } from "node:http2";
import { createServer as createHttpsServer, get } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import * as grpc from "@grpc/grpc-js";

interface Setting {
  readonly mode:
    | "healthy"
    | "failing"
    | "leaking"
    | "silent"
    | "waiting"
    | "client"
    | "reader"
    | "flapping"
    | "pinging"
    | "deaf"
    | "uneven"
    | "secure"
    | "congested";
  /** The server of another process. */
  readonly address?: string;
  /** For the mode "secure": the options of the TLS server. */
  readonly tls?: { readonly key: string; readonly cert: string; readonly ciphers?: string };
}

const { mode, address = "", tls = { key: "", cert: "" } } = JSON.parse(process.argv[2] ?? "{}") as Setting;
const bytes = (value: Buffer): Buffer => value;
const method = (path: string, responseStream: boolean) => ({
  path,
  requestStream: false,
  responseStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});
const insecure = grpc.credentials.createInsecure();
const clientOf = (target: string, options: grpc.ClientOptions = {}): grpc.Client =>
  new grpc.Client(target, insecure, options);
const request = Buffer.from("x");

async function serve(): Promise<string> {
  const server = new grpc.Server();
  server.addService(
    { Say: method("/t.T/Say", false), Flow: method("/t.T/Flow", true) },
    {
      Say: (_: unknown, done: grpc.sendUnaryData<Buffer>) => {
        if (mode === "waiting") return;
        if (mode === "failing") done({ code: grpc.status.INTERNAL });
        else setTimeout(() => done(null, request), 5);
      },
      Flow: (call: grpc.ServerWritableStream<Buffer, Buffer>) => {
        const timer = setInterval(() => call.write(Buffer.alloc(mode === "waiting" ? 65_000 : 1000)), 20);
        call.on("cancelled", () => clearInterval(timer)).on("error", () => {});
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return `127.0.0.1:${port}`;
}

function callRepeatedly(client: grpc.Client): void {
  client.makeUnaryRequest("/t.T/Say", bytes, bytes, request, () => setTimeout(() => callRepeatedly(client), 40));
}

function openStream(client: grpc.Client): grpc.ClientReadableStream<Buffer> {
  return client.makeServerStreamRequest("/t.T/Flow", bytes, bytes, request).on("error", () => {});
}

/** Listens on a free port of this machine, and prints that the process is up. */
async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  console.log("up");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that accepts HTTP/2 connections, but responds to nothing. */
function createDeafServer(): Server {
  const frame = (type: number, flags: number): Buffer => Buffer.from([0, 0, 0, type, flags, 0, 0, 0, 0]);
  return createServer((socket) => {
    socket.on("error", () => {}).resume();
    socket.write(frame(4, 0));
    socket.once("data", () => socket.write(frame(4, 1)));
  });
}

if (mode === "reader") {
  openStream(clientOf(address)).once("data", () => console.log("up"));
} else if (mode === "flapping") {
  // Closes each connection soon after it was made.
  const server = createHttp2Server(() => {});
  server.on("session", (session) => setTimeout(() => session.destroy(), 20));
  callRepeatedly(clientOf(await listen(server)));
} else if (mode === "pinging") {
  const server = createHttp2Server(() => {});
  server.on("session", (session) => session.on("ping", () => session.goaway(11, 0, Buffer.from("too_many_pings"))));
  callRepeatedly(clientOf(await listen(server), { "grpc.keepalive_time_ms": 100 }));
} else if (mode === "deaf") {
  const session = connect(`http://${await listen(createDeafServer())}`, { maxOutstandingPings: 1_000_000 });
  session.request({ ":path": "/" }).resume();
  setInterval(() => session.ping(() => {}), 20);
} else if (mode === "uneven") {
  const server = createHttp2Server((_, response) => response.end("x"));
  const url = `http://${await listen(server)}`;
  const sessions = Array.from({ length: 4 }, () => connect(url));
  const request = (index: number): void => {
    const stream = sessions[index]?.request({ ":path": "/" }).resume();
    stream?.on("close", () => setTimeout(() => request(0), 5));
  };
  for (const index of sessions.keys()) request(index);
} else if (mode === "secure") {
  const server = createHttpsServer({ ...tls, maxVersion: "TLSv1.2" }, (_, response) => response.write("x"));
  const [host, port] = (await listen(server)).split(":");
  get({ host, port, rejectUnauthorized: false, ciphers: tls.ciphers }, (response) => response.resume());
} else if (mode === "congested") {
  // More than the network can carry.
  const server = createHttp2Server((_, response) => {
    response.write(Buffer.alloc(60_000));
  });
  connect(`http://${await listen(server)}`)
    .request({ ":path": "/" })
    .resume();
} else if (mode === "client") {
  callRepeatedly(clientOf(address));
  console.log("up");
} else if (mode === "silent") {
  // Accepts connections, and says nothing.
  callRepeatedly(clientOf(await listen(createServer(() => {}))));
} else {
  const own = await serve();
  const client = clientOf(own);
  if (mode === "healthy") {
    for (let count = 0; count < 3; count += 1) openStream(client).on("data", () => {});
    for (let count = 0; count < 3; count += 1) callRepeatedly(client);
    // The default policy connects to the first of several addresses.
    const others = await Promise.all(Array.from({ length: 4 }, serve));
    for (let count = 0; count < 5; count += 1) callRepeatedly(clientOf(`ipv4:${others.join(",")}`));
  }
  if (mode === "failing") {
    callRepeatedly(client);
    if (address !== "") callRepeatedly(clientOf(address));
  }
  if (mode === "leaking") {
    const kept: grpc.Client[] = [];
    setInterval(() => {
      const leaked = clientOf(own, { "grpc.use_local_subchannel_pool": 1 });
      leaked.makeUnaryRequest("/t.T/Say", bytes, bytes, request, () => {});
      kept.push(leaked);
    }, 50);
  }
  console.log(`port ${own}`);
}
