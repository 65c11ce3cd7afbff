// A server of one kind, watched or not, for the benchmark of observing: node observing-server.js <kind> <on|off>
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Server as GrpcServer, type handleUnaryCall, ServerCredentials } from "@grpc/grpc-js";
import { createHealth, createRegistry, healthRoutes } from "@wirescope/channelz";
import { observeHttp2Server } from "@wirescope/instrument";
import { serveUntilLetGo } from "./serving-process.js";

const answer = Buffer.concat([Buffer.from([0, 0, 0, 0, 10]), Buffer.alloc(10)]);
const [kind, isOn] = [process.argv[2], process.argv[3] === "on"];

function serveHttp2(): void {
  const server = createHttp2Server();
  if (isOn) observeHttp2Server(createRegistry(), server);
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.resume();
    stream.on("end", () => {
      stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(answer);
    });
  });
  server.listen(0, "127.0.0.1", () => {
    serveUntilLetGo({ port: (server.address() as AddressInfo).port }, () => process.exit());
  });
}

function serveConnect(): void {
  const routes = (router: ConnectRouter): void => {
    // Any unary service does; health is at hand.
    healthRoutes(health)(router);
  };
  const health = createHealth();
  const server = createHttp2Server(connectNodeAdapter({ routes }));
  if (isOn) observeHttp2Server(createRegistry(), server);
  server.listen(0, "127.0.0.1", () => {
    serveUntilLetGo({ port: (server.address() as AddressInfo).port }, () => process.exit());
  });
}

function serveGrpcJs(): void {
  const server = new GrpcServer({ "grpc.enable_channelz": isOn ? 1 : 0 });
  const bytes = (message: Buffer): Buffer => message;
  const handle: handleUnaryCall<Buffer, Buffer> = (_call, reply) => reply(null, answer.subarray(5));
  server.register("/bench.Echo/Call", handle, bytes, bytes, "unary");
  server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
    if (error) throw error;
    serveUntilLetGo({ port }, () => process.exit());
  });
}

if (kind === "http2") serveHttp2();
else if (kind === "connect-node") serveConnect();
else if (kind === "grpc-js") serveGrpcJs();
else throw new Error(`There is no server of the kind ${kind}.`);
