import { type ObjectKind, objectKinds } from "../client/find-kinds.js";
import { type AppliedCorrection, correctionsOf } from "../correction-marks.js";
import type { Channel, Server, Socket, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { type Counters, countersOf } from "./counters.js";

/** Identifies an object in all snapshots of a timeline: origin, kind and id, joined by `|`. */
export type ObjectKey = string;

const connectivityStates = ["UNKNOWN", "IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"] as const;

/** The state of a channel or subchannel, by its name in Channelz. */
export type ConnectivityStateName = (typeof connectivityStates)[number];

/** A process that objects were read from. */
export interface Origin {
  /** Distinguishes it from other processes; empty if there is only one. */
  readonly name: string;
  /** Its address; empty if it is this process. */
  readonly target: string;
  /** Why it could not be read. */
  readonly error?: string | undefined;
  /** What `error` begins with, if that names the process. */
  readonly errorSubject?: string | undefined;
}

/** An object at one time. */
export type SnapshotObject = ObjectFacts &
  (
    | { readonly kind: "channel"; readonly message?: Channel | undefined }
    | { readonly kind: "subchannel"; readonly message?: Subchannel | undefined }
    | { readonly kind: "server"; readonly message?: Server | undefined }
    | { readonly kind: "socket"; readonly message?: Socket | undefined }
  );

interface ObjectFacts {
  readonly key: ObjectKey;
  /** The name of its origin. */
  readonly origin: string;
  readonly id: bigint;
  readonly name: string;
  /** Whether a list of top channels contains it. */
  readonly isTop: boolean;
  /** Of channels and subchannels. */
  readonly state?: ConnectivityStateName | undefined;
  /** Of channels and subchannels. */
  readonly target?: string | undefined;
  readonly counters: Counters;
  /** The channels, subchannels and sockets that it refers to. One that closed during the read is not in the snapshot. */
  readonly children: readonly ObjectKey[];
  /** Why it could not be read. Then `message` is missing, or from an earlier read. */
  readonly unreadable?: string | undefined;
  /** The corrections in `message`; missing if there are none. */
  readonly corrections?: readonly AppliedCorrection[] | undefined;
}

/** All objects of a Source at one time. */
export interface Snapshot {
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  /** By key, ordered by origin, kind and id. */
  readonly objects: ReadonlyMap<ObjectKey, SnapshotObject>;
  readonly origins: readonly Origin[];
  /** False if reading stopped early. */
  readonly isComplete: boolean;
  /** Why reading stopped early. */
  readonly stoppedBy?: string | undefined;
}

/** The properties to create an object from; all others are derived. */
export type ObjectParts = {
  readonly origin: string;
  readonly isTop?: boolean;
  /** The ids of the connections that a server accepted. */
  readonly acceptedSockets?: readonly bigint[];
  readonly unreadable?: string | undefined;
  /** The corrections in the message. Default: those that the message is marked with. */
  readonly corrections?: readonly AppliedCorrection[] | undefined;
} & (
  | { readonly kind: "channel"; readonly message: Channel }
  | { readonly kind: "subchannel"; readonly message: Subchannel }
  | { readonly kind: "server"; readonly message: Server }
  | { readonly kind: "socket"; readonly message: Socket }
  | { readonly kind: ObjectKind; readonly message?: undefined; readonly id: bigint; readonly name: string }
);

/** The key of an object. */
export function objectKey(origin: string, kind: ObjectKind, id: bigint): ObjectKey {
  return `${origin}|${kind}|${id}`;
}

/** Creates the object of a message, or one that could not be read. */
export function createObject(parts: ObjectParts): SnapshotObject {
  const { origin, kind, message, isTop = false, unreadable } = parts;
  const { id, name } = message === undefined ? parts : refOf(parts);
  const corrections = message === undefined ? [] : (parts.corrections ?? correctionsOf(message));
  const facts = {
    key: objectKey(origin, kind, id),
    origin,
    id,
    name,
    isTop,
    counters: countersOf(message?.data),
    children: message === undefined ? [] : childrenOf(parts),
    ...(unreadable === undefined ? {} : { unreadable }),
    ...(corrections.length === 0 ? {} : { corrections }),
  };
  if (message === undefined) return { ...facts, kind };
  if (kind === "server" || kind === "socket") return { ...facts, kind, message } as SnapshotObject;
  const { state, target = "" } = message.data ?? {};
  return {
    ...facts,
    kind,
    message,
    state: connectivityStates[state?.state ?? 0] ?? "UNKNOWN",
    target,
  } as SnapshotObject;
}

/** The ids of the connections that a server accepted: children that its message does not list. */
export function acceptedSocketsOf(object: SnapshotObject): bigint[] {
  if (object.kind !== "server") return [];
  const prefix = objectKey(object.origin, "socket", 0n).slice(0, -1);
  const listening = object.message?.listenSocket.length ?? 0;
  return object.children.slice(listening).map((key) => BigInt(key.slice(prefix.length)));
}

/**
 * Creates a snapshot from objects in any order. Of objects with the same key, the last one is used; origins of objects that are
 * missing in `origins` are added.
 */
export function createSnapshot(parts: {
  readonly timeMs: number;
  readonly origins: readonly Origin[];
  readonly objects: Iterable<SnapshotObject>;
  readonly stoppedBy?: string | undefined;
}): Snapshot {
  const { timeMs, stoppedBy } = parts;
  const byKey = new Map<ObjectKey, SnapshotObject>();
  for (const object of parts.objects) byKey.set(object.key, object);
  const unnamed = new Set([...byKey.values()].map(({ origin }) => origin));
  for (const { name } of parts.origins) unnamed.delete(name);
  const origins = [...parts.origins, ...[...unnamed].map((name) => ({ name, target: "" }))];
  const sorted = [...byKey.values()].sort(objectOrder(origins));
  return {
    timeMs,
    origins,
    objects: new Map(sorted.map((object) => [object.key, object])),
    isComplete: stoppedBy === undefined,
    ...(stoppedBy === undefined ? {} : { stoppedBy }),
  };
}

/** The order of objects in a snapshot with these origins. */
export function objectOrder(origins: readonly Origin[]): (a: SnapshotObject, b: SnapshotObject) => number {
  const rank = new Map(origins.map(({ name }, index) => [name, index]));
  return (a, b) => {
    if (a.origin !== b.origin) return (rank.get(a.origin) ?? -1) - (rank.get(b.origin) ?? -1);
    if (a.kind !== b.kind) return objectKinds.indexOf(a.kind) - objectKinds.indexOf(b.kind);
    return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  };
}

type Described = Extract<ObjectParts, { readonly message: object }>;

function refOf(parts: Described): { readonly id: bigint; readonly name: string } {
  const name = parts.message.ref?.name ?? "";
  switch (parts.kind) {
    case "channel":
      return { id: parts.message.ref?.channelId ?? 0n, name };
    case "subchannel":
      return { id: parts.message.ref?.subchannelId ?? 0n, name };
    case "server":
      return { id: parts.message.ref?.serverId ?? 0n, name };
    case "socket":
      return { id: parts.message.ref?.socketId ?? 0n, name };
  }
}

function childrenOf(parts: Described): readonly ObjectKey[] {
  const { origin } = parts;
  const socketKey = (id: bigint): ObjectKey => objectKey(origin, "socket", id);
  switch (parts.kind) {
    case "socket":
      return [];
    case "server":
      return [
        ...parts.message.listenSocket.map(({ socketId }) => socketKey(socketId)),
        ...(parts.acceptedSockets ?? []).map(socketKey),
      ];
    default:
      return [
        ...parts.message.channelRef.map(({ channelId }) => objectKey(origin, "channel", channelId)),
        ...parts.message.subchannelRef.map(({ subchannelId }) => objectKey(origin, "subchannel", subchannelId)),
        ...parts.message.socketRef.map(({ socketId }) => socketKey(socketId)),
      ];
  }
}
