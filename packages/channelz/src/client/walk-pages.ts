import { ChannelzError } from "../errors.js";
import { highestInt64, toInt64 } from "../int64.js";
import type { Int64, PageRequest, ReadOptions } from "../source.js";

/** Options for walking a list. */
export interface WalkOptions extends ReadOptions {
  /** The number of objects to request at a time. Default 0: the peer chooses. */
  readonly pageSize?: Int64 | undefined;
  /** The lowest id to read. Default 0. */
  readonly startId?: Int64 | undefined;
  /** The maximum number of objects; above it, the walk rejects with LIMIT_REACHED. Default 100,000. */
  readonly maxObjects?: number | undefined;
}

/** A page of any list. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly end: boolean;
}

/** More objects than a process has, but few enough for a peer whose pages never end. */
export const defaultMaxObjects = 100_000;

/** The error if a peer lists more objects than the caller allows. */
export function limitReached(what: string, maxObjects: number): ChannelzError {
  return new ChannelzError(
    "LIMIT_REACHED",
    `The peer lists more than ${maxObjects} ${what}, the maximum for one read. Either it has that many, or its pages ` +
      "never end. Raise the limit to read more.",
  );
}

/**
 * Reads a list page by page and yields every object once, ascending by id.
 *
 * It ends at `end`, at an empty page, and when a peer makes no progress: a page with nothing at or above the requested id is the
 * last. Objects without a positive id are dropped. Rejects with LIMIT_REACHED after `maxObjects` of `what`.
 */
export async function* walkPages<T>(
  what: string,
  readPage: (request: PageRequest) => Promise<Page<T>>,
  idOf: (item: T) => bigint,
  options: WalkOptions = {},
): AsyncGenerator<T, void, undefined> {
  const { maxObjects = defaultMaxObjects } = options;
  const requestedId = toInt64(options.startId ?? 0, "start id");
  let startId = requestedId > 0n ? requestedId : 0n;
  let count = 0;
  for (;;) {
    const { items, end } = await readPage({ startId, maxResults: options.pageSize ?? 0 });
    const fresh = new Map<bigint, T>();
    for (const item of items) {
      const id = idOf(item);
      if (id > 0n && id >= startId && !fresh.has(id)) fresh.set(id, item);
    }
    const ids = [...fresh.keys()].sort((a, b) => (a < b ? -1 : 1));
    for (const id of ids) {
      if (count >= maxObjects) throw limitReached(what, maxObjects);
      count += 1;
      yield fresh.get(id) as T;
    }
    const highest = ids.at(-1);
    if (end || highest === undefined || highest === highestInt64) return;
    startId = highest + 1n;
  }
}
