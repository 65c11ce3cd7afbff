import type { Clock } from "@wirescope/tool-server";

/** What was loaded, and how long it holds. */
export interface LoadedList<Item> {
  readonly items: readonly Item[];
  /** In milliseconds; `Infinity` where the server tells of changes. */
  readonly ttlMs: number;
}

/** A list of a server that is kept until it changes. */
export interface CachedList<Item> {
  /** What is known, fresh or not; undefined where nothing is. */
  readonly known: readonly Item[] | undefined;
  /**
   * What the server has; undefined where it failed, or did not say in time. The time runs from the beginning of the load, and
   * the load goes on after it: a slow server keeps the first who ask waiting, and nobody after them.
   */
  get(): Promise<readonly Item[] | undefined>;
  /** The server said that it changed, or may have: what is known is used until it is loaded anew. */
  invalidate(): void;
  /** Nothing is known any more. */
  clear(): void;
}

export interface CachedListOptions<Item> {
  readonly load: () => Promise<LoadedList<Item>>;
  /** How long who asks waits, in milliseconds. */
  readonly limitMs: number;
  readonly clock: Clock;
  /** What is known is other than before. */
  readonly onChanged: () => void;
  /** It was left out: it failed, or did not come in time. */
  readonly onLeftOut: (reason: unknown) => void;
}

export function createCachedList<Item>(options: CachedListOptions<Item>): CachedList<Item> {
  const { load, limitMs, clock, onChanged, onLeftOut } = options;
  let known: readonly Item[] | undefined;
  let knownText = "";
  let freshUntil = 0;
  let loading: { readonly promise: Promise<void>; readonly since: number; isLate: boolean } | undefined;
  /** Raised by what makes a load that is under way worthless. */
  let generation = 0;

  const learn = (items: readonly Item[] | undefined, text = ""): void => {
    known = items;
    if (text === knownText) return;
    knownText = text;
    onChanged();
  };

  const begin = (): NonNullable<typeof loading> => {
    const begun = generation;
    const promise = load()
      .then(({ items, ttlMs }) => ({ items, ttlMs, text: textOf(items) }))
      .then(
        ({ items, ttlMs, text }) => {
          if (generation === begun) freshUntil = clock.now() + ttlMs;
          learn(items, text);
        },
        (reason: unknown) => {
          learn(undefined);
          onLeftOut(reason);
        },
      )
      .finally(() => {
        loading = undefined;
      });
    return { promise, since: clock.now(), isLate: false };
  };

  return {
    get known() {
      return known;
    },
    async get() {
      if (known !== undefined && freshUntil > clock.now()) return known;
      loading ??= begin();
      const mine = loading;
      const leftMs = mine.since + limitMs - clock.now();
      if (leftMs > 0) await within(clock, leftMs, mine.promise);
      if (loading === mine && !mine.isLate) {
        mine.isLate = true;
        onLeftOut(undefined);
      }
      return known;
    },
    invalidate() {
      generation += 1;
      freshUntil = 0;
    },
    clear() {
      generation += 1;
      freshUntil = 0;
      learn(undefined);
    },
  };
}

/** The longest list that is passed on, in characters: every client that asks gets the lists of all servers at once. */
const longestList = 16 * 1024 * 1024;

function textOf(items: readonly unknown[]): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(items);
  } catch {
    // It goes deeper than the stack.
  }
  if (text !== undefined && text.length <= longestList) return text;
  const message = `The list is nested too deeply, or longer than ${longestList} characters, and is not passed on.`;
  throw new Error(`${message} Ask who runs the server for less.`);
}

/** Waits for a promise that never rejects, but not longer than that. */
function within(clock: Clock, limitMs: number, promise: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const callOff = clock.after(limitMs, resolve);
    void promise.then(() => {
      callOff();
      resolve();
    });
  });
}
