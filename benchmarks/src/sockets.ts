import { createRegistry, type SocketDetails, type SocketHandle } from "@wirescope/channelz";
import { type Comparison, compare, type Work } from "./compare.js";
import { GrpcJsServer, type GrpcJsSession, GrpcJsSocket, grpcJs } from "./grpc-js-internals.js";
import { costRow, type Row } from "./report.js";

/** Represents the application's connection, which holds its counter. */
class Connection<S> {
  windowSize = 65_535;
  socket: S | undefined = undefined;
}

/** A server that connections come to and go from. */
interface Side<S> {
  readonly add: (connection: Connection<S>) => S;
  readonly remove: (connection: Connection<S>, socket: S) => void;
  readonly end: () => void;
}

/**
 * What it costs to add a socket to a server and to remove it, and what a socket weighs.
 *
 * Both sides do the same: they make what counts, list the socket under its server, can ask the connection for details, and
 * find what counts from the connection. grpc-js's server does the last with a map; the rows "in the registry" leave that out.
 * Left out everywhere are the two events that grpc-js logs with the server for each connection, since ours logs none. Ours
 * in turn remembers the last 1,000 sockets that closed, and watches for those that are dropped.
 */
export async function benchSockets(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const resident of [0, 10_000, 100_000]) {
    const ours = createOurs();
    const theirServer = new GrpcJsServer();
    const theirs = createTheirs(theirServer);
    const ourConnections = connect(ours, resident);
    const theirConnections = connect(theirs, resident);
    const among = resident === 0 ? "alone" : `among ${resident.toLocaleString("en-US")}`;
    const newest = await compare(churnNewest(ours), churnNewest(theirs), 20_000);
    rows.push(churnRow(`socket added and removed, ${among}`, newest, 1 / 3));
    const inRegistry = await compare(churnNewest(ours), churnNewest(createTheirRegistry(theirServer)), 20_000);
    rows.push(churnRow(`the same, in the registry, ${among}`, inRegistry));
    if (resident > 0) {
      const any = await compare(churnAny(ours, ourConnections), churnAny(theirs, theirConnections), 20_000);
      rows.push(churnRow(`any socket removed and one added, ${among}`, any));
    }
    disconnect(ours, ourConnections);
    disconnect(theirs, theirConnections);
  }
  rows.push(await bytesRow("idle socket of a server", false), await bytesRow("socket that carried a call", true, 0.6));
  return rows;
}

function createOurs(): Side<SocketHandle> {
  const registry = createRegistry();
  const server = registry.addServer();
  return {
    add: (subject) => registry.addSocket({ server, subject, describe: describeConnection }),
    remove: (_connection, socket) => socket.close(),
    end: () => server.close(),
  };
}

function describeConnection(connection: Connection<SocketHandle>): SocketDetails {
  return { localFlowControlWindow: connection.windowSize };
}

function createTheirs(server: GrpcJsServer): Side<GrpcJsSession> {
  return {
    add: (connection) => server.opened(connection),
    remove: (connection, session) => server.closed(connection, session),
    end: () => grpcJs.unregisterChannelzRef(server.ref),
  };
}

/** Only what grpc-js does in its registry, for a server or a client alike. */
function createTheirRegistry({ sessions }: GrpcJsServer): Pick<Side<GrpcJsSocket>, "add" | "remove"> {
  return {
    add: () => {
      const socket = new GrpcJsSocket();
      sessions.refChild(socket.ref);
      return socket;
    },
    remove: (_connection, { ref }) => {
      sessions.unrefChild(ref);
      grpcJs.unregisterChannelzRef(ref);
    },
  };
}

function connect<S>({ add }: Side<S>, count: number): Connection<S>[] {
  const connections = Array.from({ length: count }, () => new Connection<S>());
  for (const connection of connections) connection.socket = add(connection);
  return connections;
}

function disconnect<S>({ remove, end }: Side<S>, connections: readonly Connection<S>[]): void {
  for (const connection of connections) remove(connection, connection.socket!);
  end();
}

/** As where most connections stay and a few are short. */
function churnNewest<S>({ add, remove }: Pick<Side<S>, "add" | "remove">): Work {
  return (count) => {
    for (let i = 0; i < count; i += 1) {
      const connection = new Connection<S>();
      connection.socket = add(connection);
      remove(connection, connection.socket);
    }
  };
}

/** As where connections end in no order, and others come for them. */
function churnAny<S>({ add, remove }: Side<S>, connections: Connection<S>[]): Work {
  let state = 1;
  return (count) => {
    for (let i = 0; i < count; i += 1) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
      const index = state % connections.length;
      remove(connections[index]!, connections[index]!.socket!);
      const connection = new Connection<S>();
      connection.socket = add(connection);
      connections[index] = connection;
    }
  };
}

function churnRow(work: string, { ours, theirs, ratio }: Comparison, most?: number): Row {
  return costRow(work, "ns", ours, theirs, ratio, most);
}

/** Both sides in the same state: a socket of a server's, with or without one call counted. The connection is not weighed. */
async function bytesRow(work: string, isUsed: boolean, most?: number): Promise<Row> {
  const ours = await weigh(createOurs(), (socket) => {
    if (!isUsed) return;
    socket.remoteStreamStarted();
    socket.messageReceived();
    socket.messageSent();
    socket.streamSucceeded();
  });
  const theirs = await weigh(createTheirs(new GrpcJsServer()), (session) => {
    if (!isUsed) return;
    session.streamTracker.addCallStarted();
    session.messagesReceived += 1;
    session.lastMessageReceivedTimestamp = Date.now();
    session.messagesSent += 1;
    session.lastMessageSentTimestamp = Date.now();
    session.streamTracker.addCallSucceeded();
  });
  return costRow(work, "bytes", ours, theirs, ours / theirs, most);
}

async function weigh<S>(side: Side<S>, use: (socket: S) => void): Promise<number> {
  const connections = Array.from({ length: 100_000 }, () => new Connection<S>());
  const before = await memoryInUse();
  for (const connection of connections) {
    connection.socket = side.add(connection);
    use(connection.socket);
  }
  // Ours weigh more once they are a second old: only then are they watched, and held weakly what they describe.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const bytes = ((await memoryInUse()) - before) / connections.length;
  disconnect(side, connections);
  return bytes;
}

async function memoryInUse(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("Run with --expose-gc: npm run bench does.");
  for (let i = 0; i < 4; i += 1) {
    globalThis.gc();
    // A finalization is reported between turns, and only then is the object released.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
