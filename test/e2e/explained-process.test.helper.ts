// A process of grpc-js: node program.mjs '{"mode": …}'. It prints "port N" if it serves, or "up".
import { createServer } from "node:net";
import * as grpc from "@grpc/grpc-js";

interface Setting {
  readonly mode: "healthy" | "failing" | "leaking" | "silent" | "waiting" | "refused" | "client";
  /** The server of another process. */
  readonly address?: string;
}

const { mode, address = "" } = JSON.parse(process.argv[2] ?? "{}") as Setting;
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
        const timer = setInterval(() => call.write(Buffer.alloc(1000)), 20);
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

function callAgainAndAgain(client: grpc.Client): void {
  client.makeUnaryRequest("/t.T/Say", bytes, bytes, request, () => setTimeout(() => callAgainAndAgain(client), 5));
}

function openStream(client: grpc.Client): grpc.ClientReadableStream<Buffer> {
  return client.makeServerStreamRequest("/t.T/Flow", bytes, bytes, request).on("error", () => {});
}

if (mode === "client" || mode === "refused") {
  callAgainAndAgain(clientOf(address));
  console.log("up");
} else if (mode === "silent") {
  // Accepts connections, and says nothing.
  const silent = createServer(() => {}).listen(0, "127.0.0.1", () => {
    const bound = silent.address();
    callAgainAndAgain(clientOf(`127.0.0.1:${typeof bound === "object" ? bound?.port : 0}`));
    console.log("up");
  });
} else {
  const own = await serve();
  const client = clientOf(own);
  if (mode === "healthy") {
    for (let count = 0; count < 3; count += 1) openStream(client).on("data", () => {});
    for (let count = 0; count < 10; count += 1) callAgainAndAgain(client);
    // The default policy connects to the first of several addresses.
    const others = await Promise.all(Array.from({ length: 4 }, serve));
    for (let count = 0; count < 5; count += 1) callAgainAndAgain(clientOf(`ipv4:${others.join(",")}`));
  }
  if (mode === "failing") callAgainAndAgain(client);
  if (mode === "leaking") {
    const kept: grpc.Client[] = [];
    setInterval(() => {
      const leaked = clientOf(own, { "grpc.use_local_subchannel_pool": 1 });
      leaked.makeUnaryRequest("/t.T/Say", bytes, bytes, request, () => {});
      kept.push(leaked);
    }, 100);
  }
  console.log(`port ${own}`);
}
