/**
 * Maps each item with at most `concurrency` in progress, and yields the results in the order of the items.
 * Leaving the loop early waits for nothing. A failure is thrown instead of its result; if `items` itself fails, the results of the
 * earlier items are yielded first.
 */
export async function* mapBounded<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  concurrency: number,
  map: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const underway: Promise<R>[] = [];
  const start = (item: T): void => {
    const result = map(item);
    // Its rejection may not be handled for a long time, or never.
    result.catch(() => {});
    underway.push(result);
  };
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let failure: { readonly reason: unknown } | undefined;
  try {
    for (;;) {
      let next: IteratorResult<T>;
      try {
        next = await iterator.next();
      } catch (reason) {
        failure = { reason };
        break;
      }
      if (next.done) break;
      start(next.value);
      const first = underway.length >= concurrency ? underway.shift() : undefined;
      if (first !== undefined) yield await first;
    }
    for (const result of underway) yield await result;
  } finally {
    await iterator.return?.();
  }
  if (failure !== undefined) throw failure.reason;
}
