/**
 * Maps each item with at most `concurrency` at work, and yields the results in the order of the items.
 * Leaving the loop early waits for nothing; a failure is thrown where its result would stand.
 */
export async function* mapBounded<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  concurrency: number,
  map: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const underway: Promise<R>[] = [];
  for await (const item of items) {
    const result = map(item);
    // It may fail long before its turn, or never get one; until then the rejection is nobody's.
    result.catch(() => {});
    underway.push(result);
    const first = underway.length >= concurrency ? underway.shift() : undefined;
    if (first !== undefined) yield await first;
  }
  for (const result of underway) yield await result;
}
