import * as grpc from "@grpc/grpc-js";
import { channelzPackages, createRegistry, listenChannelz, type Registry } from "@wirescope/channelz";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { unixPath } from "../sockets/connections.test.helper.js";
import { connect, serve, unary } from "./echo.test.helper.js";
import { observeGrpcJs } from "./observe-grpc-js.js";

type Reader = (method: string, request: object) => Promise<Record<string, never>>;

/** grpc-js's own Channelz client, with its own package name or the other one. */
function reader(address: string, channelzPackage: string): Reader {
  const definition = inPackage(grpc.getChannelzServiceDefinition(), channelzPackage);
  const Client = grpc.makeGenericClientConstructor(definition, "Channelz");
  const client = new Client(address, grpc.credentials.createInsecure());
  onTestFinished(() => client.close());
  return (method, request) =>
    new Promise((resolve, reject) => {
      client[method]!(request, (error: grpc.ServiceError | null, response: Record<string, never>) =>
        error ? reject(error) : resolve(response),
      );
    });
}

function inPackage(definition: grpc.ServiceDefinition, channelzPackage: string): grpc.ServiceDefinition {
  return Object.fromEntries(
    Object.entries(definition).map(([name, method]) => [
      name,
      { ...method, path: method.path.replace("grpc.channelz.v1", channelzPackage) },
    ]),
  );
}

let registry: Registry;

beforeEach(() => {
  registry = createRegistry();
  const observation = observeGrpcJs(registry, grpc);
  onTestFinished(() => observation.stop());
});

describe.each(channelzPackages)("reads with the client of grpc-js, as %s", (channelzPackage) => {
  async function read(): Promise<{ call: Reader; target: string }> {
    const { target } = await serve(`unix:${unixPath()}`);
    const client = connect(target);
    await unary(client);
    await unary(client, "fail");
    const listener = await listenChannelz(registry);
    onTestFinished(() => listener.close());
    return { call: reader(listener.address, channelzPackage), target };
  }

  test("reads from a top channel down to its socket, with its Unix addresses", async () => {
    const { call, target } = await read();
    const top = (await call("getTopChannels", {})) as { channel?: unknown };
    const channels = top.channel as {
      data: { target: string; state: { state: string }; calls_started: string; calls_failed: string };
      subchannel_ref: { subchannel_id: string }[];
    }[];
    const channel = channels.find(({ data }) => data.target === target)!;
    expect(channel.data).toMatchObject({ state: { state: "READY" }, calls_started: "2", calls_failed: "1" });
    const { subchannel } = (await call("getSubchannel", channel.subchannel_ref[0]!)) as unknown as {
      subchannel: { socket_ref: { socket_id: string }[] };
    };
    const { socket } = (await call("getSocket", subchannel.socket_ref[0]!)) as unknown as { socket: object };
    expect(socket).toMatchObject({
      local: { uds_address: { filename: "" } },
      remote: { uds_address: { filename: target.slice("unix:".length) } },
      data: { streams_started: "2", streams_succeeded: "2", messages_sent: "2", messages_received: "1" },
    });
  });

  test("[CZ-D-ARG-1] [CZ-ERR-1] returns errors where grpc-js's own service returns wrong objects", async () => {
    const { call } = await read();
    const { server } = (await call("getServers", {})) as unknown as { server: { ref: { server_id: string } }[] };
    const serverId = server[0]!.ref.server_id;
    await expect(call("getTopChannels", { max_results: -1 })).rejects.toMatchObject({
      code: grpc.status.INVALID_ARGUMENT,
    });
    // The id of an object of another kind is not found.
    await expect(call("getSocket", { socket_id: serverId })).rejects.toMatchObject({ code: grpc.status.NOT_FOUND });
  });
});
