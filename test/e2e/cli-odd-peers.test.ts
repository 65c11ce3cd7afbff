import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ChannelzError, createRegistry, listenChannelz, type Source } from "@wirescope/channelz";
import { GetServersResponseSchema, GetTopChannelsResponseSchema } from "@wirescope/channelz/client";
import { expect, onTestFinished, test } from "vitest";
import { type Run, runCommand, startCommand } from "./command.test.helper.js";

async function serve(source: Source): Promise<string> {
  const listener = await listenChannelz(source);
  onTestFinished(() => listener.close());
  return listener.address;
}

const held: unknown[] = [];

/** A registry with one object of each kind, and two connections. */
function createWorld() {
  const registry = createRegistry();
  const channel = registry.addChannel({ target: "dns:///api.example:443", name: "api" });
  const subchannel = registry.addSubchannel({ parent: channel, target: "192.0.2.1:443" });
  const client = registry.addSocket({ parent: subchannel, local: { ip: "127.0.0.1", port: 5001 } });
  const server = registry.addServer({ name: "web" });
  const listening = registry.addListenSocket({ server, local: { ip: "127.0.0.1", port: 8080 } });
  const accepted = [7001, 7002].map((port) =>
    registry.addSocket({ server, local: { ip: "127.0.0.1", port: 8080 }, remote: { ip: "127.0.0.1", port } }),
  );
  // The registry releases what an application drops.
  held.push(channel, subchannel, client, server, listening, accepted);
  const [first = client, second = client] = accepted;
  return { registry, channel, subchannel, client, server, listening, first, second };
}

const internal = (): never => {
  throw new ConnectError("Requested the wrong type", Code.Internal);
};

/** gRPC C++ returns INTERNAL, not NOT_FOUND, for an id that belongs to an object of another kind. */
function likeCpp(source: Source): Source & { readonly failures: () => number } {
  let failures = 0;
  const strict = async <T>(reading: Promise<T>): Promise<T> => {
    try {
      return await reading;
    } catch (error) {
      failures += 1;
      return ChannelzError.is(error, "NOT_FOUND") ? internal() : Promise.reject(error);
    }
  };
  return {
    getTopChannels: (request, options) => source.getTopChannels(request, options),
    getServers: (request, options) => source.getServers(request, options),
    getServerSockets: (id, request, options) => strict(source.getServerSockets(id, request, options)),
    getServer: (id, options) => strict(source.getServer(id, options)),
    getChannel: (id, options) => strict(source.getChannel(id, options)),
    getSubchannel: (id, options) => strict(source.getSubchannel(id, options)),
    getSocket: (id, options) => strict(source.getSocket(id, options)),
    failures: () => failures,
  };
}

test.each(["channel", "subchannel", "server", "client", "listening", "second"] as const)(
  "show finds a %s by its id at a peer that returns INTERNAL for the wrong kind, without one failed call",
  async (name) => {
    const world = createWorld();
    const peer = likeCpp(world.registry);
    const { id } = world[name];
    const { code, stdout, stderr } = await runCommand(["show", String(id), "--target", await serve(peer)]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const kind = ["client", "listening", "second"].includes(name) ? "socket" : name;
    expect(stdout).toMatch(new RegExp(`^${kind} ${id}\\b`));
    expect(peer.failures()).toBe(0);
  },
);

test("show finds a closed subchannel that a trace still names, and any closed object when its kind is named", async () => {
  const world = createWorld();
  const { registry, subchannel, first } = world;
  const target = await serve(registry);
  subchannel.close("connection lost");
  expect((await runCommand(["show", String(subchannel.id), "--target", target])).stdout).toContain("connection lost");
  first.close();
  const unknown = await runCommand(["show", String(first.id), "--target", target]);
  expect(unknown).toMatchObject({ code: 1, stdout: "" });
  expect(unknown.stderr).toContain(`wirescope show ${first.id} --kind socket`);
  const named = await runCommand(["show", String(first.id), "--kind", "socket", "--target", target]);
  expect(named).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(`^socket ${first.id}\\b`)) });
});

test("[CZ-D-CLIENT-6] shows one socket that the peer fails to read as unreadable next to all others", async () => {
  const { registry, first, second, client, listening, server } = createWorld();
  const target = await serve({
    ...likeCpp(registry),
    getSocket: async (id, options) => (Number(id) === first.id ? internal() : registry.getSocket(id, options)),
  });
  const tree = await runCommand(["tree", "--target", target]);
  expect(tree).toMatchObject({ code: 0, stderr: "" });
  expect(tree.stdout).toMatch(new RegExp(`socket ${first.id} +\\S+ +unreadable: .*Requested the wrong type`));
  for (const { id } of [second, client, listening]) expect(tree.stdout).toContain(`socket ${id} `);

  const sockets = await runCommand(["sockets", "--target", target]);
  expect(sockets.code).toBe(0);
  expect(sockets.stdout).toMatch(new RegExp(`^ *${first.id} +server +server ${server.id} +unreadable`, "m"));
  expect(sockets.stdout).toMatch(new RegExp(`^socket ${first.id} is unreadable: .*Requested the wrong type`, "m"));
  expect(sockets.stdout).toContain("127.0.0.1:7002");
  const json = JSON.parse((await runCommand(["sockets", "--json", "--target", target])).stdout);
  expect(json).toHaveLength(4);
  expect(json).toContainEqual(
    expect.objectContaining({
      ref: { socketId: String(first.id), name: expect.any(String) },
      unreadable: expect.stringContaining("Requested the wrong type"),
    }),
  );
});

test("lists servers although the peer fails to read the listen socket of one", async () => {
  const { registry, listening } = createWorld();
  const target = await serve({ ...likeCpp(registry), getSocket: async () => internal() });
  const { code, stdout } = await runCommand(["servers", "--target", target]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/web/);
  expect(stdout).toMatch(new RegExp(`^socket ${listening.id} is unreadable: `, "m"));
});

test("shows everything else if a subchannel or the connections of a server cannot be read", async () => {
  const { registry, subchannel, listening } = createWorld();
  const target = await serve({
    ...likeCpp(registry),
    getSubchannel: async () => internal(),
    getServerSockets: async () => internal(),
  });
  const tree = await runCommand(["tree", "--target", target]);
  expect(tree).toMatchObject({ code: 0, stderr: "" });
  expect(tree.stdout).toMatch(new RegExp(`subchannel ${subchannel.id} +\\S+ +unreadable: `));
  expect(tree.stdout).toMatch(/server \d+ +web +0 calls +connections unreadable: /);
  expect(tree.stdout).toContain("listens on 127.0.0.1:8080");

  // The list cannot show sockets that it does not know of, so it says that it is partial.
  const sockets = await runCommand(["sockets", "--target", target]);
  expect(sockets.code).toBe(1);
  expect(sockets.stdout).toMatch(new RegExp(`^ *${listening.id} +listen`, "m"));
  expect(sockets.stderr).toContain("The output is partial.");
});

/** A peer with one server whose channels never end: each page has two more, and announces another. */
function endless(): Source {
  const { registry } = createWorld();
  return {
    ...likeCpp(registry),
    getTopChannels: async ({ startId = 0n } = {}) => {
      const next = BigInt(startId) > 0n ? BigInt(startId) : 1n;
      const channel = [next, next + 1n].map((channelId) => ({ ref: { channelId, name: `c${channelId}` } }));
      return create(GetTopChannelsResponseSchema, { channel, end: false });
    },
  };
}

function expectPartial({ code, stderr }: Run): void {
  expect(code).toBe(1);
  expect(stderr).toMatch(/^wirescope: The output is partial\. .*more than 101 channels.*--max-objects \d+\.\n$/);
}

test("[CZ-D-CLIENT-7] stops an endless list at the limit, and prints what it read and why it stopped", async () => {
  const target = await serve(endless());
  const channels = await runCommand(["channels", "--max-objects", "101", "--target", target]);
  expectPartial(channels);
  expect(channels.stdout.trimEnd().split("\n")).toHaveLength(1 + 101 + 1);

  const json = await runCommand(["channels", "--json", "--max-objects", "101", "--target", target]);
  expectPartial(json);
  expect(JSON.parse(json.stdout)).toHaveLength(101);

  const tree = await runCommand(["tree", "--max-objects", "101", "--target", target]);
  expectPartial(tree);
  expect(tree.stdout).toContain("channel 101 ");
  expect(tree.stdout).toContain("listens on 127.0.0.1:8080");
  expect(
    JSON.parse((await runCommand(["tree", "--json", "--max-objects", "101", "--target", target])).stdout),
  ).toMatchObject({
    isComplete: false,
    stoppedBy: expect.stringContaining("more than 101 channels"),
  });

  expect((await runCommand(["channels", "--max-objects", "none", "--target", target])).code).toBe(2);
});

test.each(["channels", "tree"])("[CZ-D-CLIENT-7] ends %s at Ctrl-C, and prints what it has read", async (verb) => {
  const source = endless();
  let pages = 0;
  const target = await serve({
    ...source,
    getTopChannels: (request, options) => {
      pages += 1;
      return source.getTopChannels(request, options);
    },
  });
  const run = startCommand([verb, "--max-objects", "100000000", "--target", target]);
  await expect.poll(() => pages).toBeGreaterThan(100);
  run.process.kill("SIGINT");
  expect(await run.ended).toBe(130);
  expect(run.stdout).toMatch(/\bc100\b/);
  expect(run.stderr).toMatch(/wirescope: Interrupted\. The output is partial\.\n$/);
});

test("prints what was read before the peer failed, and the error", async () => {
  const source = endless();
  const target = await serve({
    ...source,
    getTopChannels: async (request, options) =>
      BigInt(request?.startId ?? 0n) > 50n ? internal() : source.getTopChannels(request, options),
  });
  const { code, stdout, stderr } = await runCommand(["channels", "--target", target]);
  expect(code).toBe(1);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1 + 50 + 1);
  expect(stderr).toMatch(/^wirescope: The output is partial\. .*Requested the wrong type/);

  const nothing = await serve({
    ...source,
    getServers: async () => create(GetServersResponseSchema, { end: true }),
    getTopChannels: async () => internal(),
  });
  const failed = await runCommand(["tree", "--target", nothing]);
  expect(failed).toMatchObject({ code: 1, stdout: "" });
  expect(failed.stderr).not.toContain("partial");
});
