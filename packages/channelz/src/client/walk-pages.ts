import type { Int64, PageRequest, ReadOptions } from "../source.js";

/** How a list is walked. */
export interface WalkOptions extends ReadOptions {
  /** How many objects to ask for at a time. Default 0: the peer chooses. */
  readonly pageSize?: Int64 | undefined;
  /** Where to begin: objects with this id or above. Default 0. */
  readonly startId?: Int64 | undefined;
}

/** A page, whatever it lists. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly end: boolean;
}

const highestId = 2n ** 63n - 1n;

/**
 * Follows a list to its end and yields every object once, ascending by id.
 *
 * It ends at `end`, at an empty page, and where a peer makes no progress: what lies below the id that a page was asked from was
 * seen before or never asked for, so a page of nothing else is the last. Objects without a positive id are dropped.
 */
export async function* walkPages<T>(
  readPage: (request: PageRequest) => Promise<Page<T>>,
  idOf: (item: T) => bigint,
  options: WalkOptions = {},
): AsyncGenerator<T, void, undefined> {
  const asked = BigInt(options.startId ?? 0);
  let startId = asked > 0n ? asked : 0n;
  for (;;) {
    const { items, end } = await readPage({ startId, maxResults: options.pageSize ?? 0 });
    const fresh = new Map<bigint, T>();
    for (const item of items) {
      const id = idOf(item);
      if (id > 0n && id >= startId && !fresh.has(id)) fresh.set(id, item);
    }
    const ids = [...fresh.keys()].sort((a, b) => (a < b ? -1 : 1));
    for (const id of ids) yield fresh.get(id) as T;
    const highest = ids.at(-1);
    if (end || highest === undefined || highest === highestId) return;
    startId = highest + 1n;
  }
}
