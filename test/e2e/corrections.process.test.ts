import * as grpc from "@grpc/grpc-js";
import { connectChannelz } from "@wirescope/channelz";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "./command.test.helper.js";

// grpc-js serves the Channelz of its own process. It exchanges the two windows, and never counts a stream that the client cancelled.

const bytes = {
  requestSerialize: (value: Buffer) => value,
  requestDeserialize: (value: Buffer) => value,
  responseSerialize: (value: Buffer) => value,
  responseDeserialize: (value: Buffer) => value,
};
const service = {
  echo: { path: "/wirescope.peers.Echo/Echo", requestStream: false, responseStream: false, ...bytes },
  watch: { path: "/wirescope.peers.Echo/Watch", requestStream: false, responseStream: true, ...bytes },
} satisfies grpc.ServiceDefinition;
const EchoClient = grpc.makeGenericClientConstructor(service, "Echo");

const server = new grpc.Server();
let client: InstanceType<typeof EchoClient>;
let target = "";
let socketId = "";

beforeAll(async () => {
  server.addService(service, {
    echo: (call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) =>
      done(null, call.request.subarray(0, 5)),
    watch: (call: grpc.ServerWritableStream<Buffer, Buffer>) => call.write(call.request),
  });
  grpc.addAdminServicesToServer(server);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  target = `127.0.0.1:${port}`;
  client = new EchoClient(target, grpc.credentials.createInsecure());
  await new Promise((resolve) => client.echo?.(Buffer.alloc(10_000), resolve));
  for (let count = 0; count < 2; count += 1) {
    await new Promise((resolve) => {
      const stream = client.watch?.(Buffer.from("hello")) as grpc.ClientReadableStream<Buffer>;
      stream.on("data", () => stream.cancel());
      stream.on("error", resolve);
    });
  }
  await using source = connectChannelz(target);
  const { subchannel } = await source.getSubchannel(1);
  socketId = String(subchannel?.socketRef[0]?.socketId);
});

afterAll(() => {
  client.close();
  server.forceShutdown();
});

describe("the commands on a process of grpc-js", () => {
  const sockets = async (...options: string[]) => {
    const { stdout, stderr, code } = await runCommand(["sockets", "--json", "--target", target, ...options]);
    expect(code).toBe(0);
    const list: { ref: { socketId: string }; data: Record<string, unknown>; corrections?: { id: string }[] }[] =
      JSON.parse(stdout);
    const found = list.find(({ ref }) => ref.socketId === socketId);
    return { socket: found, stderr };
  };

  test("[CZ-D-CORRECT-7] shows the corrections of each object in JSON, and lists them on standard error", async () => {
    const { socket, stderr } = await sockets();
    expect(socket?.data).toMatchObject({ streamsStarted: "3", streamsSucceeded: "1", streamsFailed: "2" });
    expect(socket?.corrections).toContainEqual({
      id: "lost-cancels",
      detail: "streams_failed without 2 streams that have ended: subchannel 1 has no call in progress",
    });
    expect(socket?.corrections?.map(({ id }) => id)).toContain("swapped-windows");
    expect(stderr).toMatch(/^wirescope: Corrected for this peer: .*swapped-windows \(\d+\).*--no-corrections/m);
  });

  test("[CZ-D-CORRECT-7] shows what the peer sent with --no-corrections", async () => {
    const { socket, stderr } = await sockets("--no-corrections");
    const { socket: corrected } = await sockets();
    expect(socket?.data).toMatchObject({ streamsStarted: "3", streamsFailed: "0" });
    expect(socket?.corrections).toBeUndefined();
    expect(stderr).toBe("");
    expect(socket?.data.localFlowControlWindow).toBe(corrected?.data.remoteFlowControlWindow);
    expect(socket?.data.remoteFlowControlWindow).toBe(corrected?.data.localFlowControlWindow);
  });

  test("[CZ-D-CORRECT-2] shows the corrections of a socket with show, each with what the peer sent", async () => {
    const { stdout } = await runCommand(["show", socketId, "--kind", "socket", "--target", target]);
    expect(stdout).toMatch(/^ {2}corrected$/m);
    expect(stdout).toMatch(/^ {2}streams +3 started, 1 succeeded, 2 failed$/m);
    expect(stdout).toMatch(
      /^ {4}swapped-windows +the remote window as local_flow_control_window, and the local one as remote_flow_control_window$/m,
    );
  });
});
