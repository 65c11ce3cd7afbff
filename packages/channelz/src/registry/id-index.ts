/** Ids to a chunk, and below how many items a chunk is not worth its room. */
const chunkSize = 256;
const sparseChunk = 16;

/** The items whose ids have the same `key`, each at its place. */
interface Chunk<T> {
  readonly key: number;
  readonly items: (T | undefined)[];
  size: number;
}

/**
 * Finds items by their ids, at the same cost however many there are.
 *
 * Ids come one after the other, so an item stands in a chunk at the place that its id names, and nothing is searched. When
 * few of a chunk are left they move into a map, so that memory follows the number of items.
 */
export class IdIndex<T extends { readonly id: number }> {
  readonly #chunks = new Map<number, Chunk<T>>();
  readonly #stragglers = new Map<number, T>();
  /** The chunk that is being filled; it is kept, however few are left of it. */
  #newest: Chunk<T> = { key: -1, items: [], size: 0 };
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds an item whose id is higher than all before it. */
  add(item: T): void {
    const key = Math.floor(item.id / chunkSize);
    if (key !== this.#newest.key) this.#beginChunk(key);
    this.#newest.items[item.id % chunkSize] = item;
    this.#newest.size += 1;
    this.#size += 1;
  }

  get(id: number): T | undefined {
    return this.#chunkOf(id)?.items[id % chunkSize] ?? this.#stragglers.get(id);
  }

  /** Removes the item with this id; false if there is none. */
  delete(id: number): boolean {
    const chunk = this.#chunkOf(id);
    if (chunk === undefined) {
      if (!this.#stragglers.delete(id)) return false;
    } else {
      if (chunk.items[id % chunkSize] === undefined) return false;
      chunk.items[id % chunkSize] = undefined;
      chunk.size -= 1;
      if (chunk.size < sparseChunk && chunk !== this.#newest) this.#dissolve(chunk);
    }
    this.#size -= 1;
    return true;
  }

  #chunkOf(id: number): Chunk<T> | undefined {
    const key = Math.floor(id / chunkSize);
    return key === this.#newest.key ? this.#newest : this.#chunks.get(key);
  }

  #beginChunk(key: number): void {
    const full = this.#newest;
    this.#newest = { key, items: new Array(chunkSize).fill(undefined), size: 0 };
    this.#chunks.set(key, this.#newest);
    if (full.size < sparseChunk) this.#dissolve(full);
  }

  #dissolve(chunk: Chunk<T>): void {
    this.#chunks.delete(chunk.key);
    for (const item of chunk.items) if (item !== undefined) this.#stragglers.set(item.id, item);
  }
}
