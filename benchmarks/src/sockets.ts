import { createRegistry, type SocketDetails } from "@wirescope/channelz";
import { compare } from "./compare.js";
import { GrpcJsServer, GrpcJsSocket, grpcJs } from "./grpc-js-internals.js";
import { costRow, type Row } from "./report.js";

/** Stands for the application's connection: what a socket of either side is asked about. */
class Connection {
  windowSize = 65_535;
}

function describeConnection(connection: Connection): SocketDetails {
  return { localFlowControlWindow: connection.windowSize };
}

/** What it costs to add a socket to a server and to remove it, and what a socket weighs. */
export async function benchSockets(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const resident of [0, 10_000, 100_000]) {
    const registry = createRegistry();
    const server = registry.addServer();
    const theirServer = new GrpcJsServer();
    const connections = Array.from({ length: resident }, () => new Connection());
    const residents = connections.map((subject) =>
      registry.addSocket({ server, subject, describe: describeConnection }),
    );
    const theirResidents = connections.map(() => new GrpcJsSocket());
    for (const socket of theirResidents) theirServer.sessions.refChild(socket.ref);
    const churn = await compare(
      (count) => {
        for (let i = 0; i < count; i += 1) {
          const subject = new Connection();
          registry.addSocket({ server, subject, describe: describeConnection }).close();
        }
      },
      (count) => {
        for (let i = 0; i < count; i += 1) {
          const socket = new GrpcJsSocket();
          theirServer.sessions.refChild(socket.ref);
          theirServer.sessions.unrefChild(socket.ref);
          grpcJs.unregisterChannelzRef(socket.ref);
        }
      },
      20_000,
    );
    const among = resident === 0 ? "alone" : `among ${resident.toLocaleString("en-US")}`;
    rows.push(costRow(`socket added and removed, ${among}`, "ns", churn.ours, churn.theirs, churn.ratio, 1 / 3));
    for (const socket of residents) socket.close();
    for (const socket of theirResidents) grpcJs.unregisterChannelzRef(socket.ref);
    server.close();
  }
  rows.push(bytesRow("idle socket of a server", false), bytesRow("socket that carried a call", true, 0.6));
  return rows;
}

/** Both sides in the same state: a socket of a server's, with or without one call counted. The connection itself is not weighed. */
function bytesRow(work: string, isUsed: boolean, most?: number): Row {
  const count = 100_000;
  const connections = Array.from({ length: count }, () => new Connection());
  const registry = createRegistry();
  const server = registry.addServer();
  const ours = weigh(count, (i) => {
    const socket = registry.addSocket({ server, subject: connections[i]!, describe: describeConnection });
    if (isUsed) {
      socket.remoteStreamStarted();
      socket.messageReceived();
      socket.messageSent();
      socket.streamSucceeded();
    }
    return socket;
  });
  for (const socket of ours.kept) socket.close();
  server.close();
  const theirServer = new GrpcJsServer();
  const theirs = weigh(count, () => {
    const socket = new GrpcJsSocket();
    theirServer.sessions.refChild(socket.ref);
    if (isUsed) {
      socket.streamTracker.addCallStarted();
      socket.messageReceived();
      socket.messageSent();
      socket.streamTracker.addCallSucceeded();
    }
    return socket;
  });
  for (const socket of theirs.kept) {
    theirServer.sessions.unrefChild(socket.ref);
    grpcJs.unregisterChannelzRef(socket.ref);
  }
  return costRow(work, "bytes", ours.bytes, theirs.bytes, ours.bytes / theirs.bytes, most);
}

function weigh<T>(count: number, make: (index: number) => T): { bytes: number; kept: T[] } {
  const kept: T[] = new Array(count);
  const before = memoryInUse();
  for (let i = 0; i < count; i += 1) kept[i] = make(i);
  return { bytes: (memoryInUse() - before) / count, kept };
}

function memoryInUse(): number {
  if (globalThis.gc === undefined) throw new Error("Run with --expose-gc: npm run bench does.");
  globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
