/** The maximum number of places in a block. */
const blockSize = 128;
/** This many gaps are always tolerated, or a short table would be compacted all the time. */
const toleratedGaps = blockSize / 4;

/**
 * Items in ascending order of their ids, in blocks.
 *
 * Ids only grow, so adding is a push onto the last block. Removing leaves a gap in one block; a block of mostly gaps is compacted,
 * and small neighbours are joined. So there is never a pause to compact everything, memory use follows the number of items, and a
 * page costs O(log n + page) wherever it starts and whatever was removed before it.
 */
export class OrderedTable<T extends { readonly id: number }> {
  /** At least one, and the last may be empty: items that are added and removed at the end allocate nothing. */
  readonly #blocks: Block<T>[] = [new Block()];
  /** For each block but the first: all ids in it are at least this, and all before it are lower. Kept apart, so that a search touches no items. */
  readonly #firstIds: number[] = [0];
  #highestId = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds an item whose id is not in the table. */
  add(item: T): void {
    this.#size += 1;
    if (item.id <= this.#highestId) {
      this.#insert(item);
      return;
    }
    this.#highestId = item.id;
    let block = this.#blocks[this.#blocks.length - 1]!;
    if (block.end === blockSize) block = this.#beginBlock(item.id);
    block.push(item);
  }

  /** Removes the item with this id; false if it does not exist. */
  delete(id: number): boolean {
    const blockIndex = this.#blockOf(id);
    const block = this.#blocks[blockIndex]!;
    if (!block.remove(id)) return false;
    this.#size -= 1;
    if (block.isSparse) this.#compact(blockIndex);
    else if (block.count === 0 && blockIndex < this.#blocks.length - 1) this.#dropBlock(blockIndex);
    return true;
  }

  get(id: number): T | undefined {
    const block = this.#blocks[this.#blockOf(id)]!;
    return block.itemAt(block.lowerBound(id), id);
  }

  /** Calls `visit` for the items from `startId` on, ascending, until it returns false; true if the end was reached. */
  visitFrom(startId: number, visit: (item: T) => boolean): boolean {
    let blockIndex = this.#blockOf(startId);
    let index = this.#blocks[blockIndex]!.lowerBound(startId);
    for (; blockIndex < this.#blocks.length; blockIndex += 1) {
      const { places, end } = this.#blocks[blockIndex]!;
      for (; index < end; index += 1) {
        const place = places[index]!;
        if (typeof place !== "number" && !visit(place)) return false;
      }
      index = 0;
    }
    return true;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const { places, end } of this.#blocks) {
      for (let i = 0; i < end; i += 1) {
        const place = places[i]!;
        if (typeof place !== "number") yield place;
      }
    }
  }

  /** The block that contains an item with this id, or would contain it. */
  #blockOf(id: number): number {
    const firstIds = this.#firstIds;
    let low = 0;
    let high = firstIds.length - 1;
    // Recent items are requested most often, and are in the last block.
    if (firstIds[high]! <= id) return high;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (firstIds[middle]! <= id) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #beginBlock(firstId: number): Block<T> {
    const block = new Block<T>();
    this.#blocks.push(block);
    this.#firstIds.push(firstId);
    return block;
  }

  /** Adds an item out of order: an old object that was linked late. */
  #insert(item: T): void {
    const blockIndex = this.#blockOf(item.id);
    const block = this.#blocks[blockIndex]!;
    const items = [...block.items, item].sort((a, b) => a.id - b.id);
    const upper = items.length > blockSize ? items.splice(blockSize / 2) : [];
    block.fill(items);
    if (upper.length > 0) {
      this.#blocks.splice(blockIndex + 1, 0, new Block<T>().fill(upper));
      this.#firstIds.splice(blockIndex + 1, 0, upper[0]!.id);
    }
  }

  /** Removes the gaps of a block, and joins it with a neighbour if both are small. */
  #compact(blockIndex: number): void {
    const block = this.#blocks[blockIndex]!;
    block.fill(block.items);
    const left = blockIndex > 0 ? blockIndex - 1 : blockIndex;
    const into = this.#blocks[left]!;
    const from = this.#blocks[left + 1];
    // Well below a full block, so that a joined block is not split again soon.
    if (from === undefined || into.count + from.count > blockSize / 2) return;
    into.fill([...into.items, ...from.items]);
    this.#dropBlock(left + 1);
  }

  #dropBlock(blockIndex: number): void {
    this.#blocks.splice(blockIndex, 1);
    this.#firstIds.splice(blockIndex, 1);
  }
}

/** A run of items. A removed item leaves its id in its place: nothing moves, and binary search still works. */
class Block<T extends { readonly id: number }> {
  readonly places: (T | number)[] = [];
  /** The number of used places, the last of them by an item. Later places are unused. */
  end = 0;
  /** The number of items. */
  count = 0;

  get items(): T[] {
    return this.places.slice(0, this.end).filter((place) => typeof place !== "number");
  }

  get isSparse(): boolean {
    return this.end - this.count > toleratedGaps + 3 * this.count;
  }

  /** The index of the first place with this id or a higher one. */
  lowerBound(id: number): number {
    const { places, end } = this;
    if (end === 0) return 0;
    // Ids only grow, so the index is at most the difference to the first id, and equal to it if no id is missing.
    let high = Math.max(0, Math.min(end - 1, id - idOf(places[0]!)));
    const met = idOf(places[high]!);
    if (met === id) return high;
    if (met < id) return high + 1;
    let low = 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (idOf(places[middle]!) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  itemAt(index: number, id: number): T | undefined {
    if (index === this.end) return undefined;
    const place = this.places[index]!;
    return typeof place === "number" || place.id !== id ? undefined : place;
  }

  push(item: T): void {
    this.places[this.end] = item;
    this.end += 1;
    this.count += 1;
  }

  remove(id: number): boolean {
    const index = this.lowerBound(id);
    if (this.itemAt(index, id) === undefined) return false;
    this.places[index] = id;
    this.count -= 1;
    while (this.end > 0 && typeof this.places[this.end - 1] === "number") this.end -= 1;
    return true;
  }

  /** Replaces all items. */
  fill(items: readonly T[]): this {
    this.places.length = items.length;
    this.end = 0;
    this.count = 0;
    for (const item of items) this.push(item);
    return this;
  }
}

function idOf(place: { readonly id: number } | number): number {
  return typeof place === "number" ? place : place.id;
}
