/** Ids per chunk, and the number of items below which a chunk is dissolved to save memory. */
const chunkSize = 256;
const sparseSize = 16;

/** The items with the `chunkSize` ids from `firstId` on, indexed by id. */
interface Chunk<T> {
  readonly firstId: number;
  readonly items: (T | undefined)[];
  size: number;
}

/**
 * Finds items by id in constant time.
 *
 * Ids are consecutive, so the id is the index of an item in its chunk, and nothing is searched. When few items of a chunk are left,
 * they move into a map, so that memory use follows the number of items.
 */
export class IdIndex<T extends { readonly id: number }> {
  readonly #chunks = new Map<number, Chunk<T>>();
  readonly #stragglers = new Map<number, T>();
  /** The chunk that is being filled; it is kept even if it is sparse. */
  #newest: Chunk<T> = { firstId: -chunkSize, items: [], size: 0 };
  /** The chunk of the last access, because items that are added together are mostly removed together. */
  #recent: Chunk<T> = this.#newest;
  /** Sparse chunks. They are dissolved when the next chunk begins, because most are empty by then and nothing has to move. */
  readonly #sparse = new Set<Chunk<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds an item whose id is higher than all before it. */
  add(item: T): void {
    if (item.id - this.#newest.firstId >= chunkSize) this.#beginChunk(item.id);
    const chunk = this.#newest;
    chunk.items[item.id - chunk.firstId] = item;
    chunk.size += 1;
    this.#size += 1;
  }

  get(id: number): T | undefined {
    const chunk = this.#chunkOf(id);
    return chunk === undefined ? this.#stragglers.get(id) : chunk.items[id - chunk.firstId];
  }

  /** Removes the item with this id; false if it does not exist. */
  delete(id: number): boolean {
    const chunk = this.#chunkOf(id);
    if (chunk === undefined) {
      if (!this.#stragglers.delete(id)) return false;
    } else {
      const place = id - chunk.firstId;
      if (chunk.items[place] === undefined) return false;
      chunk.items[place] = undefined;
      chunk.size -= 1;
      if (chunk.size < sparseSize && chunk !== this.#newest) this.#becameSparse(chunk);
    }
    this.#size -= 1;
    return true;
  }

  #chunkOf(id: number): Chunk<T> | undefined {
    const place = id - this.#recent.firstId;
    if (place >= 0 && place < chunkSize) return this.#recent;
    const chunk = this.#chunks.get(Math.floor(id / chunkSize));
    if (chunk !== undefined) this.#recent = chunk;
    return chunk;
  }

  #beginChunk(id: number): void {
    const key = Math.floor(id / chunkSize);
    const full = this.#newest;
    this.#newest = { firstId: key * chunkSize, items: new Array(chunkSize).fill(undefined), size: 0 };
    this.#chunks.set(key, this.#newest);
    for (const chunk of this.#sparse) this.#dissolve(chunk);
    if (full.size < sparseSize) this.#sparse.add(full);
  }

  #becameSparse(chunk: Chunk<T>): void {
    if (chunk.size === 0) this.#dissolve(chunk);
    else this.#sparse.add(chunk);
  }

  #dissolve(chunk: Chunk<T>): void {
    this.#chunks.delete(chunk.firstId / chunkSize);
    this.#sparse.delete(chunk);
    if (this.#recent === chunk) this.#recent = this.#newest;
    if (chunk.size === 0) return;
    for (const item of chunk.items) if (item !== undefined) this.#stragglers.set(item.id, item);
  }
}
