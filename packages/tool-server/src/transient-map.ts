/** How many entries a Map takes before another takes its place, besides two for each that it holds then. */
const patience = 32;

/**
 * A Map of what comes and goes with every call.
 *
 * A Map that much is added to and deleted from gets new tables all the time, and in V8 each table points to the next. Once one of
 * them has grown old, only a collection of the whole heap ends it, and until then it holds all tables after it, with whatever was in
 * them: every call is copied twice and kept, long after its end. So the Map itself is left behind now and then, and no table of it
 * knows those of the next.
 *
 * What is added while it is gone through may be missed.
 */
export class TransientMap<Key, Value> {
  #entries = new Map<Key, Value>();
  #left = patience;

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  set(key: Key, value: Value): void {
    if (this.#left === 0) {
      this.#left = patience + 2 * this.#entries.size;
      this.#entries = new Map(this.#entries);
    }
    this.#left -= 1;
    this.#entries.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries = new Map();
  }

  keys(): Iterable<Key> {
    return this.#entries.keys();
  }

  values(): Iterable<Value> {
    return this.#entries.values();
  }
}

/** A Set of what comes and goes with every call: see TransientMap. */
export class TransientSet<Item> implements Iterable<Item> {
  readonly #items = new TransientMap<Item, Item>();

  get size(): number {
    return this.#items.size;
  }

  has(item: Item): boolean {
    return this.#items.has(item);
  }

  add(item: Item): void {
    this.#items.set(item, item);
  }

  delete(item: Item): boolean {
    return this.#items.delete(item);
  }

  clear(): void {
    this.#items.clear();
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.#items.values()[Symbol.iterator]();
  }
}
