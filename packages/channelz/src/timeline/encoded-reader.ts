import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { ObjectKind } from "../client/find-kinds.js";
import { defaultMaxObjects, limitReached } from "../client/walk-pages.js";
import type { EncodedRead, EncodedSource } from "../encoded-source.js";
import { ChannelzError } from "../errors.js";
import { ChannelSchema, ServerSchema, SocketSchema, SubchannelSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { notInTime, tooManyBytes } from "./bounded-source.js";
import { createTooLarge, type ReadSnapshotOptions, snapshotLimits } from "./read-snapshot.js";
import { createObject, createSnapshot, type ObjectParts, type Snapshot, type SnapshotObject } from "./snapshot.js";

/** An object from the last read, and the bytes that it was decoded from. */
interface Known {
  readonly bytes: Uint8Array;
  /** The encoded refs of the connections that a server accepted. */
  readonly accepted: readonly Uint8Array[];
  readonly object: SnapshotObject;
}

const schemas: Readonly<Record<ObjectKind, DescMessage>> = {
  channel: ChannelSchema,
  subchannel: SubchannelSchema,
  server: ServerSchema,
  socket: SocketSchema,
};

/** The field number of the id in the ref of each kind. */
const idFields: Readonly<Record<ObjectKind, number>> = { channel: 1, subchannel: 7, server: 5, socket: 3 };
const lookUps = { channel: "GetChannel", subchannel: "GetSubchannel" } as const;

/** After this many reads other tasks can run. */
const readsPerTurn = 500;

/**
 * Creates a snapshot reader for a source in this process that encodes its responses, such as a registry. It compares the bytes of
 * each object with those of the last read, and decodes only what changed; unchanged objects are identical to the last ones.
 */
export function createEncodedReader(
  source: EncodedSource,
): (options: Omit<ReadSnapshotOptions, "socketDetails">) => Promise<Snapshot> {
  let known = createTable();
  return async ({
    maxObjects = defaultMaxObjects,
    timeoutMs = snapshotLimits.timeoutMs,
    maxSnapshotBytes = snapshotLimits.maxSnapshotBytes,
    maxObjectBytes = snapshotLimits.maxObjectBytes,
    signal,
    target = "",
  }) => {
    const deadline = timeoutMs > 0 ? performance.now() + timeoutMs : Number.POSITIVE_INFINITY;
    let size = 0;
    const found = createTable();
    let reads = 0;
    let stoppedBy: string | undefined;
    const encode = (read: EncodedRead): Uint8Array | undefined => {
      reads += 1;
      try {
        return source.encode(read, "rpc.channelz.v1", 0);
      } catch (error) {
        // The object closed after its parent was read.
        if (ChannelzError.is(error, "NOT_FOUND")) return undefined;
        throw error;
      }
    };
    let nextTurn = readsPerTurn;
    const letOthersRun = async (): Promise<void> => {
      nextTurn = reads + readsPerTurn;
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
      if (performance.now() > deadline) throw notInTime();
    };
    const add = (
      kind: ObjectKind,
      id: bigint,
      bytes: Uint8Array,
      isTop: boolean,
      accepted: readonly Uint8Array[] = [],
    ) => {
      const before = known[kind].get(id);
      const isSame =
        before?.object.isTop === isTop && sameBytes(before.bytes, bytes) && sameLists(before.accepted, accepted);
      const entry = before !== undefined && isSame ? before : decode(kind, bytes, isTop, accepted);
      found[kind].set(id, entry);
      if (found[kind].size > maxObjects) throw limitReached(`${kind}s`, maxObjects);
      size += bytes.length;
      if (size > maxSnapshotBytes) throw tooManyBytes(maxSnapshotBytes);
      return entry.object;
    };
    const pages = function* (read: (startId: bigint) => EncodedRead, kind: ObjectKind) {
      for (let startId = 0n, isEnd = false; !isEnd; ) {
        const page = encode(read(startId));
        if (page === undefined) return;
        const { items, end } = itemsOf(page);
        for (const bytes of items) {
          const id = kind === "socket" ? idIn(bytes, idFields.socket) : idOf(kind, bytes);
          startId = id + 1n;
          yield { id, bytes };
        }
        isEnd = end || items.length === 0;
      }
    };
    const readSocket = (id: bigint): void => {
      if (found.socket.has(id)) return;
      const response = encode({ method: "GetSocket", id, summary: true });
      const [bytes] = response === undefined ? [] : itemsOf(response).items;
      if (bytes !== undefined) add("socket", id, bytes, false);
    };
    const readBelow = (object: SnapshotObject): void => {
      if (object.kind !== "channel" && object.kind !== "subchannel") return;
      for (const { socketId } of object.message?.socketRef ?? []) readSocket(socketId);
      const children = [
        ...(object.message?.channelRef ?? []).map(({ channelId: id }) => ({ kind: "channel", id }) as const),
        ...(object.message?.subchannelRef ?? []).map(({ subchannelId: id }) => ({ kind: "subchannel", id }) as const),
      ];
      for (const { kind, id } of children) {
        if (found[kind].has(id)) continue;
        const response = encode({ method: lookUps[kind], id });
        const [bytes] = response === undefined ? [] : itemsOf(response).items;
        if (bytes !== undefined) readBelow(add(kind, id, bytes, false));
      }
    };

    try {
      const tops: SnapshotObject[] = [];
      const maxResults = 1000n;
      for (const { id, bytes } of pages((startId) => ({ method: "GetTopChannels", startId, maxResults }), "channel"))
        tops.push(add("channel", id, bytes, true));
      for (const top of tops) {
        if (reads >= nextTurn) await letOthersRun();
        readBelow(top);
      }
      for (const { id, bytes } of pages((startId) => ({ method: "GetServers", startId, maxResults }), "server")) {
        const accepted: Uint8Array[] = [];
        const sockets = pages((startId) => ({ method: "GetServerSockets", id, startId, maxResults }), "socket");
        for (const ref of sockets) {
          if (reads >= nextTurn) await letOthersRun();
          accepted.push(ref.bytes);
          readSocket(ref.id);
        }
        const server = add("server", id, bytes, false, accepted);
        if (server.kind !== "server") continue;
        for (const { socketId } of server.message?.listenSocket ?? []) readSocket(socketId);
      }
    } catch (error) {
      if (!ChannelzError.is(error)) throw error;
      stoppedBy = error.message;
    }
    known = found;
    return createSnapshot({
      timeMs: Date.now(),
      origins: [{ name: "", target }],
      objects: Object.values(found).flatMap((entries) =>
        [...entries.values()].map(({ bytes, object }) =>
          bytes.length > maxObjectBytes ? createTooLarge(object, maxObjectBytes) : object,
        ),
      ),
      stoppedBy,
    });
  };
}

type Table = Readonly<Record<ObjectKind, Map<bigint, Known>>>;

function createTable(): Table {
  return { channel: new Map(), subchannel: new Map(), server: new Map(), socket: new Map() };
}

function decode(kind: ObjectKind, bytes: Uint8Array, isTop: boolean, accepted: readonly Uint8Array[]): Known {
  // The bytes may be a part of a page, which is not kept.
  const copy = new Uint8Array(bytes);
  const message: MessageShape<DescMessage> = fromBinary(schemas[kind], copy);
  const acceptedSockets = accepted.map((ref) => idIn(ref, idFields.socket));
  const parts = { origin: "", kind, isTop, message, acceptedSockets } as unknown as ObjectParts;
  return { bytes: copy, accepted: accepted.map((ref) => new Uint8Array(ref)), object: createObject(parts) };
}

/** The items of a response: its field 1, which is repeated in a page, and `end`, its field 2. */
function itemsOf(response: Uint8Array): { readonly items: readonly Uint8Array[]; readonly end: boolean } {
  const reader = new BinaryReader(response);
  const items: Uint8Array[] = [];
  let end = false;
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === 1) items.push(reader.bytes());
    else if (number === 2) end = reader.bool();
    else reader.skip(wireType, number);
  }
  return { items, end };
}

/** The id of an encoded object: in its ref, which is its field 1. */
function idOf(kind: ObjectKind, bytes: Uint8Array): bigint {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === 1) return idIn(reader.bytes(), idFields[kind]);
    reader.skip(wireType, number);
  }
  return 0n;
}

function idIn(ref: Uint8Array, field: number): bigint {
  const reader = new BinaryReader(ref);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === field) return BigInt(reader.int64());
    reader.skip(wireType, number);
  }
  return 0n;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
}

function sameLists(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((bytes, index) => sameBytes(bytes, b[index] ?? bytes));
}
