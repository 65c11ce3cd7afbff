import { create } from "@bufbuild/protobuf";
import { ChannelzError } from "../errors.js";
import { GetServersResponseSchema, GetTopChannelsResponseSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { toInt64, toPage } from "../int64.js";
import type { Int64, PageRequest, ReadOptions, Source } from "../source.js";
import { type Gathered, type GatherOptions, gatherOrigins, type OriginSource } from "./gather.js";
import { createOriginIds, highestOwnId, type OriginIds } from "./origin-ids.js";
import { createOriginView } from "./origin-view.js";
import { walkServers, walkTopChannels } from "./walk.js";
import type { WalkOptions } from "./walk-pages.js";

/** A process of a merged Source, and its error if its objects are missing. */
export interface OriginStatus {
  readonly name: string;
  readonly target: string;
  /** Why the last list has no objects of this process; undefined if it responded. */
  readonly error?: string | undefined;
}

/** Several processes as one Source. */
export interface MergedSource extends Source {
  /** The processes, in the order of their ids, each with its own ids and names. */
  readonly parts: readonly OriginSource[];
  /** The processes in the same order, with the ids and names that this Source shows. */
  readonly views: readonly OriginSource[];
  /** Converts between the ids of the processes and the merged ids. */
  readonly ids: OriginIds;
  /** Each process, with the error of the last list that was read from it. */
  origins(): readonly OriginStatus[];
}

/** How several sources are merged. */
export interface MergeOptions extends Omit<GatherOptions, "signal"> {
  /** How long a process that failed is not read again, in milliseconds. Default 2,000. */
  readonly retryAfterMs?: number | undefined;
}

const maxPageSize = 1000;

/**
 * Several processes as one Source: ids include the process ({@link createOriginIds}), and names begin with the origin in brackets.
 * Lists contain the objects of all processes that respond; `origins()` reports the others. A list rejects only if no process
 * responds. Objects whose id has more than 12 digits are left out.
 */
export function mergeSources(sources: readonly OriginSource[], options: MergeOptions = {}): MergedSource {
  const { retryAfterMs = 2000, ...gatherOptions } = options;
  const ids = createOriginIds(sources.map(({ origin }) => origin));
  if (ids.origins.length < sources.length) throw new TypeError("Two sources have the same origin.");
  const byOrigin = new Map(sources.map((source) => [source.origin, source]));
  const parts = ids.origins.flatMap((origin) => byOrigin.get(origin) ?? []);
  const views = parts.map((part) => ({ ...part, source: createOriginView(part, ids) }));
  const failures = new Map<string, { readonly error: ChannelzError; readonly atMs: number }>();

  const recordResult = ({ origin, error }: Gathered<unknown>): void => {
    if (error === undefined) failures.delete(origin.origin);
    else failures.set(origin.origin, { error, atMs: Date.now() });
  };
  const isPaused = ({ origin }: OriginSource): boolean =>
    Date.now() - (failures.get(origin)?.atMs ?? Number.NEGATIVE_INFINITY) < retryAfterMs;

  /** The first items of a list at or after the start id, of all processes that respond. */
  async function readPage<T>(
    request: PageRequest | undefined,
    { signal }: ReadOptions = {},
    walk: (source: Source, options: WalkOptions) => AsyncIterable<T>,
  ): Promise<{ readonly items: readonly T[]; readonly end: boolean }> {
    const { startId, maxResults } = toPage(request);
    const size = maxResults === 0n ? maxPageSize : Math.min(Number(maxResults), maxPageSize);
    const hasLaterIds = ({ origin }: OriginSource): boolean => (ids.encode(origin, highestOwnId) ?? 0n) >= startId;
    const gathered = await gatherOrigins(
      views.filter((view) => hasLaterIds(view) && !isPaused(view)),
      (source, originSignal) =>
        // One more than the page, to find out whether more follow.
        firstOf(walk(source, { startId, pageSize: size + 1, signal: originSignal }), size + 1),
      { ...gatherOptions, signal },
    );
    // If the caller aborted, that says nothing about a process.
    const [failure] = gathered.flatMap(({ error }) => error ?? []);
    if (signal?.aborted && failure !== undefined) throw failure;
    gathered.forEach(recordResult);
    const errors = parts.flatMap(({ origin }) => failures.get(origin)?.error ?? []);
    const [first] = errors;
    if (first !== undefined && errors.length === parts.length) throw noneResponds(parts, first);
    const items = gathered.flatMap(({ value = [] }) => value);
    return { items: items.slice(0, size), end: items.length <= size };
  }

  /** A read of one object, in the process that its id names. */
  async function readOne<T>(kind: string, id: Int64, read: (source: Source) => Promise<T>): Promise<T> {
    const origin = ids.decode(toInt64(id))?.origin;
    const view = views.find((each) => each.origin === origin);
    if (view === undefined) {
      throw new ChannelzError("NOT_FOUND", `None of the ${parts.length} targets has ${kind} ${id}.`);
    }
    try {
      return await read(view.source);
    } catch (error) {
      // Other errors may concern this object or this method only.
      if (ChannelzError.is(error, "PEER_UNAVAILABLE")) recordResult({ origin: view, error });
      throw error;
    }
  }

  return {
    parts,
    views,
    ids,
    origins: () =>
      parts.map(({ origin: name, target }) => ({ name, target, error: failures.get(name)?.error.message })),
    async getTopChannels(request, readOptions) {
      const { items: channel, end } = await readPage(request, readOptions, walkTopChannels);
      return create(GetTopChannelsResponseSchema, { channel: [...channel], end });
    },
    async getServers(request, readOptions) {
      const { items: server, end } = await readPage(request, readOptions, walkServers);
      return create(GetServersResponseSchema, { server: [...server], end });
    },
    getServerSockets: (id, request, readOptions) =>
      readOne("server", id, (source) => source.getServerSockets(id, request, readOptions)),
    getServer: (id, readOptions) => readOne("server", id, (source) => source.getServer(id, readOptions)),
    getChannel: (id, readOptions) => readOne("channel", id, (source) => source.getChannel(id, readOptions)),
    getSubchannel: (id, readOptions) => readOne("subchannel", id, (source) => source.getSubchannel(id, readOptions)),
    getSocket: (id, readOptions) => readOne("socket", id, (source) => source.getSocket(id, readOptions)),
  };
}

/** Whether a source shows several processes. */
export function isMergedSource(source: Source): source is MergedSource {
  return "views" in source;
}

async function firstOf<T>(items: AsyncIterable<T>, count: number): Promise<T[]> {
  const first: T[] = [];
  for await (const item of items) {
    first.push(item);
    if (first.length >= count) break;
  }
  return first;
}

/** The error if none of several processes responds, with the error of the first. */
export function noneResponds(parts: readonly OriginSource[], first: ChannelzError): ChannelzError {
  if (parts.length === 1) return first;
  const message = `None of the ${parts.length} targets responds. The first: ${first.message}`;
  return new ChannelzError(first.code, message, { cause: first });
}
