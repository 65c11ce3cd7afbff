import { create } from "@bufbuild/protobuf";
import type { CorrectionId } from "../correction-marks.js";
import {
  ChannelRefSchema,
  ChannelSchema,
  ServerRefSchema,
  ServerSchema,
  SocketRefSchema,
  SocketSchema,
  SubchannelRefSchema,
  SubchannelSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import {
  CorrectionSchema,
  type Origin as OriginMessage,
  OriginSchema,
  type Snapshot as SnapshotMessage,
  type SnapshotObject as SnapshotObjectMessage,
  SnapshotObjectSchema,
  SnapshotSchema,
} from "../gen/wirescope/v1/timeline_pb.js";
import {
  acceptedSocketsOf,
  createObject,
  createSnapshot,
  type ObjectParts,
  type Origin,
  type Snapshot,
  type SnapshotObject,
} from "./snapshot.js";

/** A snapshot as a message of the schema. */
export function encodeSnapshot({ timeMs, origins, objects, stoppedBy = "" }: Snapshot): SnapshotMessage {
  const positions = originPositions(origins);
  return create(SnapshotSchema, {
    timeMs: BigInt(timeMs),
    origins: encodeOrigins(origins),
    objects: [...objects.values()].map((object) => encodeObject(object, positions)),
    stoppedBy,
  });
}

/** The snapshot of a message. Throws a TypeError if the message contradicts itself. */
export function decodeSnapshot(message: SnapshotMessage): Snapshot {
  const origins = decodeOrigins(message.origins);
  return createSnapshot({
    timeMs: Number(message.timeMs),
    origins,
    objects: message.objects.map((object) => decodeObject(object, origins)),
    stoppedBy: message.stoppedBy === "" ? undefined : message.stoppedBy,
  });
}

/** The position of each origin, by its name. */
export function originPositions(origins: readonly Origin[]): ReadonlyMap<string, number> {
  return new Map(origins.map(({ name }, index) => [name, index]));
}

/** Origins as messages. */
export function encodeOrigins(origins: readonly Origin[]): OriginMessage[] {
  return origins.map(({ name, target, error = "", errorSubject = "" }) =>
    create(OriginSchema, { name, target, error, errorSubject }),
  );
}

/** The key of each object contains the name of its origin. */
const maxNameLength = 1000;

/** The origins of messages. Throws a TypeError if a name is too long. */
export function decodeOrigins(messages: readonly OriginMessage[]): Origin[] {
  if (messages.some(({ name }) => name.length > maxNameLength))
    throw new TypeError("A timeline has a name that is too long.");
  return messages.map(({ name, target, error, errorSubject }) => ({
    name,
    target,
    ...(error === "" ? {} : { error }),
    ...(errorSubject === "" ? {} : { errorSubject }),
  }));
}

/** An object as a message of the schema. */
export function encodeObject(object: SnapshotObject, origins: ReadonlyMap<string, number>): SnapshotObjectMessage {
  return create(SnapshotObjectSchema, {
    origin: origins.get(object.origin) ?? 0,
    object: { case: object.kind, value: object.message ?? onlyRef(object) } as SnapshotObjectMessage["object"],
    isTop: object.isTop,
    acceptedSockets: acceptedSocketsOf(object),
    unreadable: object.unreadable ?? "",
    onlyRef: object.message === undefined,
    corrections: (object.corrections ?? []).map((each) => create(CorrectionSchema, each)),
  });
}

/** The object of a message. Throws a TypeError if it has no object, or an origin that does not exist. */
export function decodeObject(message: SnapshotObjectMessage, origins: readonly Origin[]): SnapshotObject {
  const { object, isTop, acceptedSockets, onlyRef } = message;
  const origin = origins[message.origin]?.name;
  if (origin === undefined || object.case === undefined)
    throw new TypeError("A timeline has an object without origin.");
  const unreadable = message.unreadable === "" ? undefined : message.unreadable;
  // A later version may know more corrections than this one.
  const corrections = message.corrections.map(({ id, detail }) => ({ id: id as CorrectionId, detail }));
  const parts = { origin, isTop, acceptedSockets, unreadable, corrections };
  const described = createObject({ ...parts, kind: object.case, message: object.value } as ObjectParts);
  if (!onlyRef) return described;
  return createObject({ ...parts, kind: object.case, id: described.id, name: described.name });
}

function onlyRef({ kind, id, name }: SnapshotObject): NonNullable<SnapshotObject["message"]> {
  switch (kind) {
    case "channel":
      return create(ChannelSchema, { ref: create(ChannelRefSchema, { channelId: id, name }) });
    case "subchannel":
      return create(SubchannelSchema, { ref: create(SubchannelRefSchema, { subchannelId: id, name }) });
    case "server":
      return create(ServerSchema, { ref: create(ServerRefSchema, { serverId: id, name }) });
    case "socket":
      return create(SocketSchema, { ref: create(SocketRefSchema, { socketId: id, name }) });
  }
}
