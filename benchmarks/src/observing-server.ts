// Servers of one kind in one process, for the benchmark of observing: node observing-server.js <kind> [state …]
// For each state, "on" or "off", there is a server that is watched, or is not.
import { once } from "node:events";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Server as GrpcServer, type handleUnaryCall, ServerCredentials } from "@grpc/grpc-js";
import { createHealth, createRegistry, healthRoutes } from "@wirescope/channelz";
import { observeHttp2Server } from "@wirescope/instrument";
import { serveUntilLetGo } from "./serving-process.js";

const response = Buffer.concat([Buffer.from([0, 0, 0, 0, 10]), Buffer.alloc(10)]);
const [kind, ...states] = process.argv.slice(2);

async function serveHttp2(isOn: boolean): Promise<number> {
  const server = createHttp2Server();
  if (isOn) observeHttp2Server(createRegistry(), server);
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.resume();
    stream.on("end", () => {
      stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(response);
    });
  });
  return portOf(server);
}

async function serveConnect(isOn: boolean): Promise<number> {
  const routes = (router: ConnectRouter): void => {
    // Any unary service does; health is available.
    healthRoutes(health)(router);
  };
  const health = createHealth();
  const server = createHttp2Server(connectNodeAdapter({ routes }));
  if (isOn) observeHttp2Server(createRegistry(), server);
  return portOf(server);
}

function serveGrpcJs(isOn: boolean): Promise<number> {
  const server = new GrpcServer({ "grpc.enable_channelz": isOn ? 1 : 0 });
  const bytes = (message: Buffer): Buffer => message;
  const handle: handleUnaryCall<Buffer, Buffer> = (_call, reply) => reply(null, response.subarray(5));
  server.register("/bench.Echo/Call", handle, bytes, bytes, "unary");
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}

async function portOf(server: Http2Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const serve = new Map([
  ["http2", serveHttp2],
  ["connect-node", serveConnect],
  ["grpc-js", serveGrpcJs],
]).get(kind ?? "");
if (serve === undefined) throw new Error(`There is no server of the kind ${kind}.`);
const ports: number[] = [];
for (const state of states) ports.push(await serve(state === "on"));
const ready = { port: ports[0] ?? 0, ports };
serveUntilLetGo(ready, () => process.exit());
