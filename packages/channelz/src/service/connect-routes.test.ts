import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { channelzPackages } from "../channelz-package.js";
import { createRegistry } from "../registry/registry.js";
import { lingerOption } from "../registry/socket-options.js";
import { channelzService } from "../schema.js";
import { channelzRoutes } from "./connect-routes.js";

/** The registry removes what the application drops, so the tests hold on to it. */
const held: unknown[] = [];

test.each(channelzPackages)(
  "[CZ-D-VER-1] serves all seven reads under %s in a router of the application",
  async (channelzPackage) => {
    const registry = createRegistry();
    const channel = registry.addChannel({ target: "dns:///a" });
    const subchannel = registry.addSubchannel({ parent: channel, target: "b" });
    const server = registry.addServer({ name: "api" });
    const socket = registry.addSocket({ server, local: { ip: "127.0.0.1", port: 1 } });
    held.push(channel, subchannel, server, socket);
    const client = createClient(channelzService(channelzPackage), createRouterTransport(channelzRoutes(registry)));

    expect((await client.getTopChannels({})).channel.map((one) => one.ref?.channelId)).toEqual([BigInt(channel.id)]);
    expect((await client.getServers({})).server.map((one) => one.ref?.serverId)).toEqual([BigInt(server.id)]);
    expect((await client.getServer({ serverId: BigInt(server.id) })).server?.ref?.name).toBe("api");
    const sockets = await client.getServerSockets({ serverId: BigInt(server.id) });
    expect(sockets.socketRef.map((ref) => ref.socketId)).toEqual([BigInt(socket.id)]);
    expect((await client.getChannel({ channelId: BigInt(channel.id) })).channel?.data?.target).toBe("dns:///a");
    expect((await client.getSubchannel({ subchannelId: BigInt(subchannel.id) })).subchannel?.data?.target).toBe("b");
    expect((await client.getSocket({ socketId: BigInt(socket.id) })).socket?.ref?.socketId).toBe(BigInt(socket.id));
  },
);

test("[CZ-ERR-1] [CZ-D-ARG-1] returns NOT_FOUND and INVALID_ARGUMENT to the caller", async () => {
  const client = createClient(
    channelzService("rpc.channelz.v1"),
    createRouterTransport(channelzRoutes(createRegistry())),
  );
  await expect(client.getSocket({ socketId: 99n })).rejects.toMatchObject({ code: Code.NotFound });
  await expect(client.getServers({ maxResults: -1n })).rejects.toMatchObject({ code: Code.InvalidArgument });
});

test("does not reveal an unexpected error of a source to the caller", async () => {
  const source = Object.assign(createRegistry(), {
    getServers: async () => {
      throw new Error("password is hunter2");
    },
  });
  const client = createClient(channelzService("rpc.channelz.v1"), createRouterTransport(channelzRoutes(source)));
  const error = await client.getServers({}).catch((reason: unknown) => ConnectError.from(reason));
  expect(error).toMatchObject({ code: Code.Internal });
  expect(String(error)).not.toContain("hunter2");
});

test.each(channelzPackages)(
  "shows the payloads of options in JSON under %s, without configuration",
  async (channelzPackage) => {
    const registry = createRegistry();
    const subject = {};
    const socket = registry.addSocket({
      local: { ip: "127.0.0.1", port: 1 },
      subject,
      describe: () => ({ options: [lingerOption(true, 1500)] }),
    });
    held.push(socket, subject);
    const server = createServer(connectNodeAdapter({ routes: channelzRoutes(registry) }));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/${channelzPackage}.Channelz/GetSocket`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ socketId: String(socket.id) }),
    });
    const reply = (await response.json()) as { socket: { data: { option: [{ additional: unknown }] } } };
    expect(reply.socket.data.option[0].additional).toMatchObject({
      "@type": `type.googleapis.com/${channelzPackage}.SocketOptionLinger`,
      active: true,
    });
    server.close();
    server.closeAllConnections();
  },
);
