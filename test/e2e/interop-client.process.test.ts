import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import {
  type ChannelzConnection,
  connectChannelz,
  readTree,
  walkAllChannels,
  walkAllSockets,
  walkServerSockets,
  walkServers,
  walkTopChannels,
} from "@wirescope/channelz";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "./command.test.helper.js";

// grpc-js serves the Channelz of its own process, so what is read here is what this file does: servers with traffic, over TCP and a
// Unix socket. Its registry has the defects that a reader must live with: ids that start at 1 for each kind, and no addresses on
// Unix sockets.

const echo = {
  echo: {
    path: "/wirescope.interop.Echo/Echo",
    requestStream: false,
    responseStream: false,
    requestSerialize: (value: Buffer) => value,
    requestDeserialize: (value: Buffer) => value,
    responseSerialize: (value: Buffer) => value,
    responseDeserialize: (value: Buffer) => value,
  },
} satisfies grpc.ServiceDefinition;
const EchoClient = grpc.makeGenericClientConstructor(echo, "Echo");
type EchoClient = InstanceType<typeof EchoClient>;

const callsPerClient = 3;
const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
const servers: grpc.Server[] = [];
const clients: EchoClient[] = [];
let target = "";
let connection: ChannelzConnection;

async function startServer(address: string): Promise<string> {
  const server = new grpc.Server();
  servers.push(server);
  server.addService(echo, {
    echo: (call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) => {
      if (call.request.length === 0) done({ code: grpc.status.INVALID_ARGUMENT, details: "nothing to echo" });
      else done(null, call.request);
    },
  });
  grpc.addAdminServicesToServer(server);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return address.startsWith("unix:") ? address : `127.0.0.1:${port}`;
}

async function callFrom(client: EchoClient, payload: Buffer): Promise<grpc.ServiceError | null> {
  return await new Promise((resolve) => {
    client.echo?.(payload, (error: grpc.ServiceError | null) => resolve(error));
  });
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

beforeAll(async () => {
  target = await startServer("127.0.0.1:0");
  const others = [await startServer("127.0.0.1:0"), await startServer(`unix:${join(folder, "echo.sock")}`)];
  for (const address of [target, ...others]) {
    const client = new EchoClient(address, grpc.credentials.createInsecure());
    clients.push(client);
    for (let call = 0; call < callsPerClient; call += 1) await callFrom(client, Buffer.from("hello"));
    await callFrom(client, Buffer.alloc(0));
  }
  connection = connectChannelz(target, { timeoutMs: 5000 });
});

afterAll(async () => {
  await connection.close();
  for (const client of clients) client.close();
  for (const server of servers) server.forceShutdown();
  rmSync(folder, { recursive: true });
});

describe("our client with the Channelz service of grpc-js", () => {
  test("[CZ-D-CLIENT-1] detects that it serves grpc.channelz.v1", async () => {
    expect(await connection.findPackage()).toBe("grpc.channelz.v1");
  });

  test.each([0, 1, 2])("walks the channels to their end, in pages of %i", async (pageSize) => {
    const channels = await collect(walkTopChannels(connection, { pageSize }));
    expect(channels.map(({ data }) => data?.target)).toEqual(
      expect.arrayContaining([expect.stringContaining(target), expect.stringContaining("echo.sock")]),
    );
    expect(new Set(channels.map(({ ref }) => ref?.channelId)).size).toBe(channels.length);
    const ours = channels.find(({ data }) => data?.target.includes(target));
    expect(ours?.data).toMatchObject({
      callsStarted: BigInt(callsPerClient + 1),
      callsSucceeded: BigInt(callsPerClient),
      callsFailed: 1n,
    });
  });

  test.each([0, 1])("walks the servers and their sockets to their end, in pages of %i", async (pageSize) => {
    const found = await collect(walkServers(connection, { pageSize }));
    expect(found).toHaveLength(servers.length);
    for (const { ref } of found) {
      const sockets = await collect(walkServerSockets(connection, ref?.serverId ?? 0n, { pageSize }));
      expect(sockets.length).toBeGreaterThan(0);
    }
  });

  test("[CZ-D-CLIENT-2] ends a walk that starts beyond the last object", async () => {
    expect(await collect(walkTopChannels(connection, { startId: 1_000_000 }))).toEqual([]);
    expect(await collect(walkServers(connection, { startId: 1_000_000, pageSize: 1 }))).toEqual([]);
    expect(await collect(walkServerSockets(connection, 1, { startId: 1_000_000, pageSize: 1 }))).toEqual([]);
  });

  test("[CZ-D-CLIENT-3] reads objects of kinds that share ids each by its kind", async () => {
    const walked = await collect(walkAllChannels(connection));
    expect(walked.filter(({ id }) => id === 1n).map(({ kind }) => kind)).toEqual(["channel", "subchannel"]);
    const { server } = await connection.getServer(1);
    const { socket } = await connection.getSocket(1);
    expect(server?.ref?.serverId).toBe(1n);
    expect(socket?.ref?.socketId).toBe(1n);
  });

  test("[CZ-SOCKET-16] reads sockets without addresses like the others", async () => {
    const sockets = await collect(walkAllSockets(connection));
    const roles = new Set(sockets.map(({ owner }) => owner.role));
    expect(roles).toEqual(new Set(["listen", "server", "client"]));
    expect(new Set(sockets.map(({ ref }) => ref.socketId)).size).toBe(sockets.length);
    const bare = sockets.filter(({ socket, owner }) => owner.role !== "listen" && socket?.remote === undefined);
    expect(bare.length).toBeGreaterThan(0);
    const addressed = sockets.find(({ socket }) => socket?.remote?.address.case === "tcpipAddress");
    expect(addressed?.socket?.local?.address.case).toBe("tcpipAddress");
  });

  test("shows a channel with its socket, and a server with its connections, in the tree", async () => {
    const tree = await readTree(connection);
    expect(tree.isComplete).toBe(true);
    const ours = tree.channels.find((node) => node.kind === "channel" && node.object?.data?.target.includes(target));
    expect(ours?.children[0]).toMatchObject({ kind: "subchannel", children: [{ kind: "socket", role: "client" }] });
    const roles = tree.servers.flatMap(({ children }) => children.map((node) => node.kind === "socket" && node.role));
    expect(roles.filter((role) => role === "listen").length).toBeGreaterThanOrEqual(servers.length - 1);
    expect(roles).toContain("server");
  });

  test("[CZ-ERR-1] returns NOT_FOUND, and no other failure, for an unknown id", async () => {
    await expect(connection.getSocket(1_000_000)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(connection.getServerSockets(1_000_000)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("reports a peer without Channelz if it is asked for the package that it does not serve", async () => {
    await using other = connectChannelz(target, { package: "rpc.channelz.v1" });
    await expect(other.getServers()).rejects.toMatchObject({ code: "PEER_WITHOUT_CHANNELZ" });
  });

  test("[CZ-D-CLIENT-5] adds no failed call to the counters of its servers with any command that reads it", async () => {
    const failed = async (): Promise<bigint[]> =>
      (await collect(walkServers(connection))).map(({ data }) => data?.callsFailed ?? 0n);
    const before = await failed();
    for (const argv of [
      ["channels"],
      ["servers"],
      ["sockets"],
      ["tree"],
      ["show", "1"],
      ["show", "2"],
      ["show", "999"],
    ]) {
      await runCommand([...argv, "--target", target]);
    }
    expect(await failed()).toEqual(before);
  });

  test("[CZ-D-CLIENT-3] shows each object that an id names, or the requested kind, on the command line", async () => {
    const shown = async (...argv: string[]): Promise<string[]> => {
      const { stdout, stderr } = await runCommand([...argv, "--target", target]);
      return (stdout + stderr).split("\n").filter((line) => /^\w/.test(line));
    };
    expect(await shown("show", "1")).toEqual([
      expect.stringMatching(/^channel 1\b/),
      expect.stringMatching(/^subchannel 1\b/),
      expect.stringMatching(/^server 1\b/),
      expect.stringMatching(/^socket 1\b/),
    ]);
    expect(await shown("show", "1", "--kind", "server")).toEqual([expect.stringMatching(/^server 1\b/)]);
  });
});
