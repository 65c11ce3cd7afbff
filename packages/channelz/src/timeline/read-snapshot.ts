import type { ObjectKind } from "../client/find-kinds.js";
import { gatherOrigins, type OriginSource } from "../client/gather.js";
import { isMergedSource, noneResponds } from "../client/merge-sources.js";
import { readInventory } from "../client/read-inventory.js";
import type { Inventory } from "../client/tree.js";
import type { WalkGraphOptions } from "../client/walk.js";
import { ChannelzError } from "../errors.js";
import type { Source } from "../source.js";
import { approximateSize, boundSource } from "./bounded-source.js";
import {
  createObject,
  createSnapshot,
  type ObjectParts,
  type Origin,
  type Snapshot,
  type SnapshotObject,
} from "./snapshot.js";

/** Options for reading a snapshot. */
export interface ReadSnapshotOptions extends Pick<WalkGraphOptions, "signal" | "pageSize" | "concurrency"> {
  /** The maximum number of channels with subchannels, servers, and sockets, each separately. Default 100,000. */
  readonly maxObjects?: number | undefined;
  /** The timeout of the read, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** The maximum size of all objects. Default 256 MiB. */
  readonly maxSnapshotBytes?: number | undefined;
  /** The maximum size of an object; a larger one is shown as unreadable. Default 1 MiB. */
  readonly maxObjectBytes?: number | undefined;
  /** Read options, security and windows of sockets too, which costs the peer more. Default false. */
  readonly socketDetails?: boolean | undefined;
  /** The address of the process, for `origins`; a Source of several processes names them itself. Default empty. */
  readonly target?: string | undefined;
}

/** The defaults of the limits. */
export const snapshotLimits: Readonly<Record<"timeoutMs" | "maxSnapshotBytes" | "maxObjectBytes", number>> = {
  timeoutMs: 30_000,
  maxSnapshotBytes: 2 ** 28,
  maxObjectBytes: 2 ** 20,
};

/**
 * Reads all objects of a source. Objects that close meanwhile are left out. If reading stops early, at a limit or because the source
 * fails, the snapshot contains what was read, and `stoppedBy` the reason. The processes of a merged Source are read concurrently;
 * those that do not respond are origins with an error. Rejects with a ChannelzError if nothing was read.
 */
export async function readSnapshot(source: Source, options: ReadSnapshotOptions = {}): Promise<Snapshot> {
  return isMergedSource(source)
    ? await readSnapshotOfAll(source.views, options)
    : await readOrigin(source, { name: "", target: options.target ?? "" }, options);
}

/** Reads all objects of several processes at once, as one snapshot. Rejects with a ChannelzError if none responds. */
export async function readSnapshotOfAll(
  parts: readonly OriginSource[],
  options: Omit<ReadSnapshotOptions, "target"> = {},
): Promise<Snapshot> {
  const { timeoutMs = snapshotLimits.timeoutMs, signal } = options;
  const gathered = await gatherOrigins(
    parts,
    (source, originSignal, { origin: name, target }) =>
      readOrigin(source, { name, target }, { ...options, signal: originSignal, timeoutMs: 0 }),
    { signal, deadlineMs: timeoutMs },
  );
  const snapshots = gathered.flatMap(({ value }) => value ?? []);
  const [first] = gathered;
  if (snapshots.length === 0 && first?.error !== undefined) throw noneResponds(parts, first.error);
  const stopped = snapshots.find(({ stoppedBy }) => stoppedBy !== undefined);
  return createSnapshot({
    timeMs: Date.now(),
    origins: gathered.map(({ origin, error, value }) => {
      const read = { name: origin.origin, target: origin.target };
      if (error !== undefined) return { ...read, ...originError(error) };
      return value?.stoppedBy === undefined ? read : { ...read, error: value.stoppedBy };
    }),
    objects: snapshots.flatMap(({ objects }) => [...objects.values()]),
    stoppedBy: stopped?.stoppedBy,
  });
}

/** Why an origin could not be read, for a snapshot. */
export function originError(error: unknown): Pick<Origin, "error" | "errorSubject"> {
  const message = error instanceof Error ? error.message : String(error);
  // An error of another copy of this package may have no parts.
  const subject = ChannelzError.is(error) ? error.subject : undefined;
  return subject ? { error: message, errorSubject: subject } : { error: message };
}

async function readOrigin(source: Source, origin: Origin, options: ReadSnapshotOptions): Promise<Snapshot> {
  const {
    timeoutMs = snapshotLimits.timeoutMs,
    maxSnapshotBytes: maxBytes = snapshotLimits.maxSnapshotBytes,
    maxObjectBytes = snapshotLimits.maxObjectBytes,
  } = options;
  const timeout = new AbortController();
  const timer =
    timeoutMs > 0
      ? setTimeout(() => timeout.abort(new DOMException("The read timed out.", "TimeoutError")), timeoutMs)
      : undefined;
  const signal = options.signal === undefined ? timeout.signal : AbortSignal.any([timeout.signal, options.signal]);
  try {
    const inventory = await readInventory(boundSource(source, { signal, maxBytes }), {
      signal,
      pageSize: options.pageSize,
      maxObjects: options.maxObjects,
      concurrency: options.concurrency,
      sockets: options.socketDetails ? "details" : "summary",
    });
    return createSnapshot({
      timeMs: Date.now(),
      origins: [origin],
      objects: objectsOf(inventory, origin.name, maxObjectBytes),
      stoppedBy: inventory.stoppedBy?.message,
    });
  } finally {
    clearTimeout(timer);
  }
}

/** An object that is not shown because of its size. */
export function createTooLarge(
  { origin, kind, id, isTop }: Pick<SnapshotObject, "origin" | "kind" | "id" | "isTop">,
  maxObjectBytes: number,
): SnapshotObject {
  const unreadable = `It has more than ${maxObjectBytes} bytes, the maximum for one object.`;
  return createObject({ origin, kind, id, isTop, name: "", unreadable });
}

function* objectsOf(
  inventory: Inventory,
  origin: string,
  maxObjectBytes: number,
): Generator<SnapshotObject, void, undefined> {
  const names = refNames(inventory);
  const nameOf = (kind: ObjectKind, id: bigint): string => names().get(`${kind} ${id}`) ?? "";
  const bounded = (parts: ObjectParts & { readonly id: bigint }): SnapshotObject => {
    const { origin, kind, message, id, isTop = false } = parts;
    if (message === undefined || approximateSize(message, maxObjectBytes) <= maxObjectBytes) return createObject(parts);
    return createTooLarge({ origin, kind, id, isTop }, maxObjectBytes);
  };

  for (const kind of ["channel", "subchannel"] as const) {
    for (const { id, depth, object, unreadable } of inventory[kind].values()) {
      const common = { origin, id, isTop: depth === 0 };
      if (object === undefined) {
        yield createObject({ ...common, kind, name: nameOf(kind, id), unreadable: messageOf(unreadable) });
      } else yield bounded({ ...common, kind, message: object } as ObjectParts & { readonly id: bigint });
    }
  }
  for (const { server, sockets, unreadable } of inventory.servers) {
    const id = server.ref?.serverId ?? 0n;
    const accepted = sockets.filter(({ owner }) => owner.role === "server").map(({ ref }) => ref.socketId);
    yield bounded({
      kind: "server",
      id,
      origin,
      message: server,
      acceptedSockets: accepted,
      unreadable: messageOf(unreadable),
    });
  }
  for (const [id, found] of inventory.sockets) {
    const common = { kind: "socket", id, origin } as const;
    if (found === undefined || "unreadable" in found) {
      yield createObject({ ...common, name: nameOf("socket", id), unreadable: messageOf(found?.unreadable) });
    } else yield bounded({ ...common, message: found });
  }
}

/** The names of objects in refs, collected on first use. */
function refNames(inventory: Inventory): () => ReadonlyMap<string, string> {
  let names: Map<string, string> | undefined;
  return () => {
    if (names !== undefined) return names;
    names = new Map();
    for (const { object } of [...inventory.channel.values(), ...inventory.subchannel.values()]) {
      for (const { channelId, name } of object?.channelRef ?? []) names.set(`channel ${channelId}`, name);
      for (const { subchannelId, name } of object?.subchannelRef ?? []) names.set(`subchannel ${subchannelId}`, name);
      for (const { socketId, name } of object?.socketRef ?? []) names.set(`socket ${socketId}`, name);
    }
    for (const { sockets } of inventory.servers) {
      for (const { ref } of sockets) names.set(`socket ${ref.socketId}`, ref.name);
    }
    return names;
  };
}

function messageOf(error: ChannelzError | undefined): string | undefined {
  return error?.message;
}
