import type { Clock } from "@wirescope/tool-server";
import { type Mutable, waitAtMost } from "@wirescope/tool-server/internal";

/** A loaded list, and how long it may be used. */
export interface LoadedList<Item> {
  readonly items: readonly Item[];
  /** In milliseconds; `Infinity` if the server reports changes. */
  readonly ttlMs: number;
}

/** A server's list, cached until it changes. */
export interface CachedList<Item> {
  /** The cached list, fresh or not; undefined if nothing is cached. */
  readonly cached: readonly Item[] | undefined;
  /**
   * The list; undefined if the server failed or did not respond in time. The time limit counts from the start of the load, and
   * the load continues after it: a slow server delays only the first clients. It is loaded again if the last load began longer ago than
   * `maxAgeMs`. Default: only if it may have changed.
   */
  get(maxAgeMs?: number): Promise<readonly Item[] | undefined>;
  /** The list may have changed: the cached one is used until it is loaded again. */
  invalidate(): void;
  clear(): void;
}

export interface CachedListOptions<Item> {
  /** Calls `onSending` before it sends its first request: the list contains all changes until then. */
  readonly load: (onSending: () => void) => Promise<LoadedList<Item>>;
  /** How long a caller of `get` waits, in milliseconds. */
  readonly limitMs: number;
  readonly clock: Clock;
  /** The list was loaded and can be used. Called before `onChanged`. Default: nothing. */
  readonly onLoaded?: (() => void) | undefined;
  /** The cached list has changed. */
  readonly onChanged: () => void;
  /** The load failed, or took too long: then `reason` is undefined. */
  readonly onUnavailable: (reason: unknown) => void;
}

interface Loading {
  readonly promise: Promise<void>;
  readonly since: number;
  /** The generation when it was sent. */
  generation: number;
  /** The generation that the last caller expects. */
  expected: number;
  isLate: boolean;
}

export function createCachedList<Item>(options: CachedListOptions<Item>): CachedList<Item> {
  const { load, limitMs, clock, onLoaded = () => {}, onChanged, onUnavailable } = options;
  let cachedText = "";
  let freshUntil = 0;
  let loadedAt = Number.NEGATIVE_INFINITY;
  let loading: Loading | undefined;
  /** Incremented when a load in progress becomes outdated. */
  let generation = 0;

  const setCached = (items: readonly Item[] | undefined, text = ""): void => {
    list.cached = items;
    if (text === cachedText) return;
    cachedText = text;
    onChanged();
  };

  const startLoad = (): Loading => {
    const onSending = (): void => {
      started.generation = generation;
    };
    loadedAt = clock.now();
    const started = { since: loadedAt, generation, expected: generation, isLate: false };
    const promise = load(onSending)
      .then(({ items, ttlMs }) => ({ items, ttlMs, text: textOf(items) }))
      .then(
        ({ items, ttlMs, text }) => {
          if (generation === started.generation) freshUntil = clock.now() + ttlMs;
          onLoaded();
          setCached(items, text);
        },
        (reason: unknown) => {
          setCached(undefined);
          onUnavailable(reason);
        },
      )
      .finally(() => {
        loading = undefined;
        // A client that listed because of a change must not be left with a list from before it.
        if (started.expected > started.generation && list.cached !== undefined) void list.get();
      });
    return Object.assign(started, { promise });
  };

  const list: Mutable<CachedList<Item>> = {
    cached: undefined,
    async get(maxAgeMs = Number.POSITIVE_INFINITY) {
      const isFresh = freshUntil > clock.now() && clock.now() - loadedAt <= maxAgeMs;
      if (list.cached !== undefined && isFresh) return list.cached;
      loading ??= startLoad();
      const current = loading;
      current.expected = generation;
      const leftMs = current.since + limitMs - clock.now();
      if (leftMs > 0) await waitAtMost(clock, leftMs, current.promise);
      if (loading === current && !current.isLate) {
        current.isLate = true;
        onUnavailable(undefined);
      }
      return list.cached;
    },
    invalidate() {
      generation += 1;
      freshUntil = 0;
    },
    clear() {
      generation += 1;
      freshUntil = 0;
      setCached(undefined);
    },
  };
  return list;
}

/** The maximum length of a list, in characters: a client receives the lists of all servers at once. */
const maxListLength = 16 * 1024 * 1024;

function textOf(items: readonly unknown[]): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(items);
  } catch {
    // It is nested deeper than the stack allows.
  }
  if (text !== undefined && text.length <= maxListLength) return text;
  const message = `The list is nested too deeply, or longer than ${maxListLength} characters.`;
  throw new Error(`${message} Ask the operator of the server to shorten it.`);
}
