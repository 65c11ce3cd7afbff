import { type ChannelHandle, createRegistry, type SocketHandle } from "@wirescope/channelz";
import { compare } from "./compare.js";
import { encodedResponse, GrpcJsChannel, GrpcJsServer, GrpcJsSocket, grpcJs } from "./grpc-js-internals.js";
import { costRow, type Row } from "./report.js";

const pageSize = 100;

interface Page {
  readonly name: string;
  readonly startAt: (count: number) => number;
}

const pages: readonly Page[] = [
  { name: "first", startAt: () => 0 },
  { name: "middle", startAt: (count) => count >> 1 },
  { name: "last", startAt: (count) => count - pageSize },
];

/** What a page of 100 costs, from the registry to bytes, at so many objects. */
export async function benchPages(counts: readonly number[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const count of counts) rows.push(...(await socketPages(count)));
  for (const count of counts) rows.push(...(await channelPages(count)));
  return rows;
}

async function socketPages(count: number): Promise<Row[]> {
  const registry = createRegistry();
  const server = registry.addServer();
  const sockets: SocketHandle[] = [];
  for (let i = 0; i < count; i += 1) sockets.push(registry.addSocket({ server, name: "127.0.0.1:443" }));
  const theirServer = new GrpcJsServer();
  const theirSockets: GrpcJsSocket[] = [];
  for (let i = 0; i < count; i += 1) {
    const socket = new GrpcJsSocket();
    theirServer.sessions.refChild(socket.ref);
    theirSockets.push(socket);
  }
  const theirResponse = encodedResponse("GetServerSockets");
  const id = BigInt(server.id);
  const rows = await measured("sockets", count, (page) => {
    const startId = BigInt(sockets[page.startAt(count)]!.id);
    const start_socket_id = String(theirSockets[page.startAt(count)]!.ref.id);
    const server_id = String(theirServer.ref.id);
    return {
      ours: () => registry.encode({ method: "GetServerSockets", id, startId, maxResults: 100n }, "grpc.channelz.v1", 5),
      theirs: () => theirResponse({ server_id, start_socket_id, max_results: "100" }),
    };
  });
  for (const socket of theirSockets) grpcJs.unregisterChannelzRef(socket.ref);
  grpcJs.unregisterChannelzRef(theirServer.ref);
  for (const socket of sockets) socket.close();
  server.close();
  return rows;
}

async function channelPages(count: number): Promise<Row[]> {
  const registry = createRegistry({ maxTraceBytes: 1024 * 1024 * 1024 });
  const channels: ChannelHandle[] = [];
  for (let i = 0; i < count; i += 1) {
    const channel = registry.addChannel({ name: "dns:///example", target: "dns:///example" });
    channel.setState("CONNECTING");
    channel.callStarted();
    channel.callSucceeded();
    channels.push(channel);
  }
  const theirChannels: GrpcJsChannel[] = [];
  for (let i = 0; i < count; i += 1) {
    const channel = new GrpcJsChannel("dns:///example");
    channel.callTracker.addCallStarted();
    channel.callTracker.addCallSucceeded();
    theirChannels.push(channel);
  }
  const theirResponse = encodedResponse("GetTopChannels");
  const rows = await measured("channels", count, (page) => {
    const startId = BigInt(channels[page.startAt(count)]!.id);
    const start_channel_id = String(theirChannels[page.startAt(count)]!.ref.id);
    return {
      ours: () => registry.encode({ method: "GetTopChannels", startId, maxResults: 100n }, "grpc.channelz.v1", 5),
      theirs: () => theirResponse({ start_channel_id, max_results: "100" }),
    };
  });
  for (const channel of theirChannels) grpcJs.unregisterChannelzRef(channel.ref);
  for (const channel of channels) channel.close();
  return rows;
}

async function measured(
  what: string,
  count: number,
  sides: (page: Page) => { ours: () => Uint8Array; theirs: () => Uint8Array },
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const page of pages) {
    const { ours, theirs } = sides(page);
    const run = (one: () => Uint8Array) => (times: number) => {
      for (let i = 0; i < times; i += 1) one();
    };
    const { ours: ourCost, theirs: theirCost, ratio } = await compare(run(ours), run(theirs), 100);
    const work = `${page.name} page of 100 ${what} of ${count.toLocaleString("en-US")}`;
    rows.push(costRow(work, "µs", ourCost / 1000, theirCost / 1000, ratio, 1 / 5));
  }
  return rows;
}
