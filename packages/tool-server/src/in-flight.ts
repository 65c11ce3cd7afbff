// Replacements for Map and Set with a few hundred entries that are added and deleted by every call. V8 replaces the table of a Map
// whenever it becomes empty or is full of deleted entries, and the old table refers to the new one. Once a table is in the old
// generation, only a full garbage collection frees its successors, with the calls in them.

/** A set of few items, in the order in which they were added. */
export class InFlightSet<Item> implements Iterable<Item> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  has(item: Item): boolean {
    return this.#items.includes(item);
  }

  /** Adds an item, which must not be in the set. */
  add(item: Item): void {
    this.#items.push(item);
  }

  delete(item: Item): boolean {
    return removeAt(this.#items, this.#items.indexOf(item));
  }

  find(predicate: (item: Item) => boolean): Item | undefined {
    return this.#items.find(predicate);
  }

  clear(): void {
    this.#items.length = 0;
  }

  /** Iterates over a snapshot of the items. */
  [Symbol.iterator](): Iterator<Item> {
    return this.#items.slice().values();
  }
}

/** A map of few entries, in the order in which they were added. */
export class InFlightMap<Key, Value> {
  readonly #keys: Key[] = [];
  readonly #values: Value[] = [];

  get(key: Key): Value | undefined {
    const index = this.#keys.indexOf(key);
    return index === -1 ? undefined : this.#values[index];
  }

  /** Adds an entry, whose key must not be in the map. */
  add(key: Key, value: Value): void {
    this.#keys.push(key);
    this.#values.push(value);
  }

  delete(key: Key): boolean {
    const index = this.#keys.indexOf(key);
    return removeAt(this.#keys, index) && removeAt(this.#values, index);
  }

  clear(): void {
    this.#keys.length = 0;
    this.#values.length = 0;
  }

  /** A snapshot of the entries. */
  entries(): [key: Key, value: Value][] {
    return this.#keys.map((key, index) => [key, this.#values[index] as Value]);
  }
}

/** Removes an item by its index; false if that is -1. */
function removeAt(items: unknown[], index: number): boolean {
  if (index === -1) return false;
  // `splice` would return an array.
  for (let at = index + 1; at < items.length; at += 1) items[at - 1] = items[at];
  items.pop();
  return true;
}
