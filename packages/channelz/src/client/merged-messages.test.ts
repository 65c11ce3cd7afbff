import { clone, create, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import {
  ChannelSchema,
  GetChannelResponseSchema,
  GetServerResponseSchema,
  GetServerSocketsResponseSchema,
  GetSocketResponseSchema,
  GetSubchannelResponseSchema,
  ServerSchema,
  SocketRefSchema,
  SocketSchema,
  SubchannelSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import { createRegistry, type Registry } from "../registry/index.js";
import type { PageRequest, Source } from "../source.js";
import { mergeSources } from "./merge-sources.js";
import { createMergedMessages } from "./merged-messages.js";
import { createOriginIds, type OriginIds } from "./origin-ids.js";

type Addition = { kind: "channel" | "subchannel" | "server" | "socket" | "listen"; parent: number; name: string };

const additions: fc.Arbitrary<Addition[]> = fc.array(
  fc.record({
    kind: fc.constantFrom("channel", "subchannel", "server", "socket", "listen"),
    parent: fc.nat({ max: 20 }),
    name: fc.constantFrom("", "api", "[x] y"),
  }),
  { maxLength: 20 },
);

/** Adds objects below others, as far as the registry accepts it. The handles must be held: it releases what is dropped. */
function fill(registry: Registry, all: readonly Addition[]): unknown[] {
  const channels: NonNullable<Parameters<Registry["addChannel"]>[0]>["parent"][] = [undefined];
  const servers: ReturnType<Registry["addServer"]>[] = [];
  const sockets: unknown[] = [];
  for (const { kind, parent: number, name } of all) {
    const parent = channels[number % channels.length];
    const below = { name, ...(parent === undefined ? {} : { parent }) };
    const server = servers[number % Math.max(1, servers.length)];
    try {
      if (kind === "channel") channels.push(registry.addChannel({ ...below, target: "dns:///x" }));
      else if (kind === "subchannel") channels.push(registry.addSubchannel(below));
      else if (kind === "server") servers.push(registry.addServer({ name }));
      else if (kind === "listen" && server !== undefined) sockets.push(registry.addListenSocket({ server, name }));
      else if (server !== undefined && number % 2 === 0) sockets.push(registry.addSocket({ server, name }));
      else sockets.push(registry.addSocket(below));
    } catch (error) {
      if (!ChannelzError.is(error, "LINK_MIXED_CHILDREN")) throw error;
    }
  }
  return [channels, servers, sockets];
}

/** JSON of one process as it is among several: each object with an id is a ref. */
function amongSeveral(json: JsonValue, origin: string, ids: OriginIds): JsonValue {
  if (Array.isArray(json)) return json.map((each) => amongSeveral(each, origin, ids));
  if (typeof json !== "object" || json === null) return json;
  const fields = Object.entries(json).map(([key, value]) => [key, amongSeveral(value, origin, ids)]);
  const key = ["channelId", "subchannelId", "serverId", "socketId"].find((name) => name in json);
  if (key === undefined) return Object.fromEntries(fields);
  const name = `[${origin}] ${json.name ?? ""}`.trimEnd();
  return { ...Object.fromEntries(fields), [key]: String(ids.encode(origin, BigInt(String(json[key])))), name };
}

/** What a read returns, as JSON, or the code of its error. */
async function outcome<M extends Message>(reading: Promise<M>, json: (message: M) => JsonValue): Promise<JsonValue> {
  return reading.then(json, (error: unknown) => (ChannelzError.is(error) ? error.code : String(error)));
}

/** The object of each kind with each of these ids, and a page of the sockets of each server. */
async function readAll(source: Source, ids: readonly bigint[], page: PageRequest): Promise<JsonValue[]> {
  const readings = ids.flatMap((id) => [
    outcome(source.getChannel(id), (message) => toJson(GetChannelResponseSchema, message)),
    outcome(source.getSubchannel(id), (message) => toJson(GetSubchannelResponseSchema, message)),
    outcome(source.getServer(id), (message) => toJson(GetServerResponseSchema, message)),
    outcome(source.getSocket(id), (message) => toJson(GetSocketResponseSchema, message)),
    outcome(source.getServerSockets(id, page), (message) => toJson(GetServerSocketsResponseSchema, message)),
  ]);
  return await Promise.all(readings);
}

/** A page of each list. */
async function readLists(source: Source, page: PageRequest = {}): Promise<{ lists: JsonValue[][]; ends: boolean[] }> {
  const { channel, end } = await source.getTopChannels(page);
  const { server, end: serversEnd } = await source.getServers(page);
  const lists = [channel.map((each) => toJson(ChannelSchema, each)), server.map((each) => toJson(ServerSchema, each))];
  return { lists, ends: [end, serversEnd] };
}

test("[CZ-D-CLI-1] a merged Source shows what each process shows alone, with merged ids, and names that begin with the origin", async () => {
  const processes = fc.uniqueArray(fc.record({ origin: fc.string({ maxLength: 4 }), objects: additions }), {
    selector: ({ origin }) => origin,
    maxLength: 3,
  });
  await fc.assert(
    fc.asyncProperty(processes, fc.nat({ max: 20 }), fc.nat({ max: 4 }), async (all, start, maxResults) => {
      const held: unknown[] = [];
      const sources = all.map(({ origin, objects }) => {
        const source = createRegistry();
        held.push(fill(source, objects));
        return { origin, target: `target of ${origin}`, source };
      });
      const merged = mergeSources(sources);
      const { ids } = merged;
      const own = Array.from({ length: 22 }, (_, id) => BigInt(id));
      const expected: JsonValue[][] = [[], []];
      for (const { origin, source } of merged.parts) {
        const alone = await readLists(source);
        alone.lists.forEach((list, kind) => {
          expected[kind]?.push(...list.map((each) => amongSeveral(each, origin, ids)));
        });
        const mergedId = (id: bigint): bigint => (ids.encode(origin, 1n) ?? 0n) - 1n + id;
        const objects = await readAll(source, own, { startId: start, maxResults });
        const page = { startId: mergedId(BigInt(start)), maxResults };
        expect(await readAll(merged, own.map(mergedId), page)).toEqual(amongSeveral(objects, origin, ids));
      }
      expect(await readLists(merged)).toEqual({ lists: expected, ends: [true, true] });

      // A page that begins at any object of the lists, or behind the last.
      for (const [kind, list] of expected.entries()) {
        const rest = list.slice(start);
        const [first] = rest as { ref: Record<string, string> }[];
        const startId = BigInt(first?.ref[kind === 0 ? "channelId" : "serverId"] ?? 2n ** 63n - 1n);
        const size = maxResults === 0 ? rest.length : maxResults;
        const { lists, ends } = await readLists(merged, { startId, maxResults });
        expect({ list: lists[kind], end: ends[kind] }).toEqual({ list: rest.slice(0, size), end: rest.length <= size });
      }
      expect(held).toHaveLength(all.length);
    }),
    { numRuns: 15 },
  );
});

const ids = createOriginIds(["a"]);
const messages = createMergedMessages(ids);
const merged = (id: bigint): bigint => ids.encode("a", id) ?? 0n;
const tooLarge = 2n ** 62n;

test("leaves out refs whose id is too large to be merged, and the child of a trace event but not the event", () => {
  const events = [
    { description: "1", childRef: { case: "channelRef", value: { channelId: 4n, name: "x" } } },
    { description: "2", childRef: { case: "channelRef", value: { channelId: tooLarge } } },
    { description: "3", childRef: { case: "subchannelRef", value: { subchannelId: 5n } } },
    { description: "4", childRef: { case: "subchannelRef", value: { subchannelId: tooLarge } } },
    { description: "5" },
  ] as const;
  const expected = [
    { description: "1", childRef: { case: "channelRef", value: { channelId: merged(4n), name: "[a] x" } } },
    { description: "2", childRef: { case: undefined } },
    { description: "3", childRef: { case: "subchannelRef", value: { subchannelId: merged(5n), name: "[a]" } } },
    { description: "4", childRef: { case: undefined } },
    { description: "5", childRef: { case: undefined } },
  ];
  const below = {
    channelRef: [{ channelId: tooLarge }, { channelId: 1n }],
    subchannelRef: [{ subchannelId: tooLarge }, { subchannelId: 2n }],
    socketRef: [{ socketId: tooLarge }, { socketId: 3n }],
    data: { trace: { events: [...events] } },
  };
  const expectedBelow = {
    channelRef: [{ channelId: merged(1n) }],
    subchannelRef: [{ subchannelId: merged(2n) }],
    socketRef: [{ socketId: merged(3n) }],
    data: { trace: { events: expected } },
  };
  const channel = create(ChannelSchema, { ref: { channelId: 9n }, ...below });
  const given = clone(ChannelSchema, channel);
  expect(messages.channel("a", channel)).toMatchObject({ ref: { channelId: merged(9n) }, ...expectedBelow });
  expect(channel).toEqual(given);
  const subchannel = create(SubchannelSchema, { ref: { subchannelId: 9n }, ...below });
  expect(messages.getSubchannel("a", create(GetSubchannelResponseSchema, { subchannel })).subchannel).toMatchObject({
    ref: { subchannelId: merged(9n) },
    ...expectedBelow,
  });
  const server = create(ServerSchema, {
    ref: { serverId: 9n },
    listenSocket: [{ socketId: tooLarge }, { socketId: 3n }],
    data: below.data,
  });
  expect(messages.server("a", server)).toMatchObject({
    ref: { serverId: merged(9n), name: "[a]" },
    listenSocket: [{ socketId: merged(3n) }],
    data: expectedBelow.data,
  });
});

test("leaves out objects whose id is missing or too large to be merged", () => {
  for (const channel of [{}, { ref: { channelId: tooLarge } }]) {
    expect(messages.channel("a", create(ChannelSchema, channel))).toBeUndefined();
    const response = create(GetChannelResponseSchema, { channel });
    expect(messages.getChannel("a", response)).toStrictEqual(create(GetChannelResponseSchema));
  }
  for (const subchannel of [{}, { ref: { subchannelId: tooLarge } }]) {
    const response = create(GetSubchannelResponseSchema, { subchannel });
    expect(messages.getSubchannel("a", response)).toStrictEqual(create(GetSubchannelResponseSchema));
  }
  for (const server of [{}, { ref: { serverId: tooLarge } }]) {
    expect(messages.server("a", create(ServerSchema, server))).toBeUndefined();
    const response = create(GetServerResponseSchema, { server });
    expect(messages.getServer("a", response)).toStrictEqual(create(GetServerResponseSchema));
  }
  for (const socket of [{}, { ref: { socketId: tooLarge } }]) {
    const response = create(GetSocketResponseSchema, { socket });
    expect(messages.getSocket("a", response)).toStrictEqual(create(GetSocketResponseSchema));
  }
  expect(messages.socketRef("a", create(SocketRefSchema, { socketId: tooLarge }))).toBeUndefined();
});

test("keeps responses without an object, and objects without data, as they are", () => {
  expect(messages.getChannel("a", create(GetChannelResponseSchema))).toStrictEqual(create(GetChannelResponseSchema));
  expect(messages.getSubchannel("a", create(GetSubchannelResponseSchema))).toStrictEqual(
    create(GetSubchannelResponseSchema),
  );
  expect(messages.getServer("a", create(GetServerResponseSchema))).toStrictEqual(create(GetServerResponseSchema));
  expect(messages.getSocket("a", create(GetSocketResponseSchema))).toStrictEqual(create(GetSocketResponseSchema));
  const channel = create(ChannelSchema, { ref: { channelId: 1n } });
  expect(messages.channel("a", channel)).toMatchObject({ ref: { channelId: merged(1n) } });
  const server = create(ServerSchema, { ref: { serverId: 1n } });
  expect(messages.server("a", server)).toMatchObject({ ref: { serverId: merged(1n) } });
  const socket = create(SocketSchema, { ref: { socketId: 1n } });
  expect(messages.getSocket("a", create(GetSocketResponseSchema, { socket })).socket?.ref).toMatchObject({
    socketId: merged(1n),
    name: "[a]",
  });
});
