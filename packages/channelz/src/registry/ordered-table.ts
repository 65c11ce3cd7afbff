/** The most items a block holds, and below how many it looks for a neighbour to join. */
const blockSize = 128;
const sparseBlock = blockSize / 4;

/**
 * Items in the ascending order of their ids, in blocks.
 *
 * Ids only grow, so adding is a push onto the last block. Removing shifts within one block; a block that runs empty is
 * dropped, and sparse neighbours join. So there is never a pause in which everything is compacted, memory follows the
 * number of items, and a page costs O(log n + page) wherever it starts and whatever was removed before it.
 */
export class OrderedTable<T extends { readonly id: number }> {
  readonly #blocks: Block<T>[] = [];
  /** The id of the first item of each block, side by side, so that a search touches no items. */
  readonly #firstIds: number[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds an item whose id is not in the table. */
  add(item: T): void {
    const { id } = item;
    const lastIndex = this.#blocks.length - 1;
    const lastBlock = this.#blocks[lastIndex];
    this.#size += 1;
    if (lastBlock === undefined) {
      this.#blocks.push(new Block<T>([item]));
      this.#firstIds.push(id);
      return;
    }
    const { items } = lastBlock;
    if (lastBlock.length === 0) {
      items.push(item);
      this.#firstIds[lastIndex] = id;
    } else if (items[items.length - 1]!.id > id) {
      this.#insert(item);
    } else if (items.length < blockSize) {
      items.push(item);
    } else {
      this.#blocks.push(new Block<T>([item]));
      this.#firstIds.push(id);
    }
  }

  /** Removes the item with this id; false if there is none. */
  delete(id: number): boolean {
    const blockIndex = this.#blockOf(id);
    const block = this.#blocks[blockIndex];
    if (block === undefined) return false;
    const index = block.lowerBound(id);
    if (block.items[index]?.id !== id) return false;
    this.#size -= 1;
    block.removeAt(index);
    if (block.length === 0) {
      // The only block stays: a table whose one item comes and goes makes nothing anew.
      if (this.#blocks.length > 1) this.#dropBlock(blockIndex);
    } else {
      this.#firstIds[blockIndex] = block.items[block.start]!.id;
      if (block.length < sparseBlock) this.#joinNeighbour(blockIndex);
    }
    return true;
  }

  get(id: number): T | undefined {
    const block = this.#blocks[this.#blockOf(id)];
    const item = block?.items[block.lowerBound(id)];
    return item?.id === id ? item : undefined;
  }

  /** Calls `visit` for the items from `startId` on, ascending, until it returns false; true if the end was reached. */
  visitFrom(startId: number, visit: (item: T) => boolean): boolean {
    let blockIndex = this.#blockOf(startId);
    let block = this.#blocks[blockIndex];
    let index = block?.lowerBound(startId) ?? 0;
    while (block !== undefined) {
      for (; index < block.items.length; index += 1) if (!visit(block.items[index]!)) return false;
      blockIndex += 1;
      block = this.#blocks[blockIndex];
      index = block?.start ?? 0;
    }
    return true;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const { items, start } of this.#blocks) for (let i = start; i < items.length; i += 1) yield items[i]!;
  }

  /** The block in which an item with this id stands or would stand; 0 where it lies before all. */
  #blockOf(id: number): number {
    const firstIds = this.#firstIds;
    let low = 0;
    let high = firstIds.length;
    // What is young is asked for most, and stands in the last block.
    if (high > 0 && firstIds[high - 1]! <= id) return high - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (firstIds[middle]! <= id) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : low - 1;
  }

  /** Out of order: an old object that was linked late. */
  #insert(item: T): void {
    const blockIndex = this.#blockOf(item.id);
    const block = this.#blocks[blockIndex]!;
    block.items.splice(block.lowerBound(item.id), 0, item);
    this.#firstIds[blockIndex] = block.items[block.start]!.id;
    if (block.length > blockSize) {
      const upper = new Block<T>(block.items.splice(block.start + blockSize / 2));
      this.#blocks.splice(blockIndex + 1, 0, upper);
      this.#firstIds.splice(blockIndex + 1, 0, upper.items[0]!.id);
    }
  }

  #joinNeighbour(blockIndex: number): void {
    const left = blockIndex > 0 ? blockIndex - 1 : blockIndex;
    const into = this.#blocks[left]!;
    const from = this.#blocks[left + 1];
    // Well below a full block, so that a joined block does not split or overflow at once.
    if (from === undefined || into.length + from.length > blockSize / 2) return;
    this.#blocks[left] = into.joinedWith(from);
    this.#dropBlock(left + 1);
  }

  #dropBlock(blockIndex: number): void {
    this.#blocks.splice(blockIndex, 1);
    this.#firstIds.splice(blockIndex, 1);
  }
}

/** A run of items, from `start` on: what is removed at the front only moves the start. */
class Block<T extends { readonly id: number }> {
  /** Undefined before `start`, and nowhere else. */
  readonly items: (T | undefined)[];
  start = 0;

  constructor(items: (T | undefined)[]) {
    this.items = items;
  }

  get length(): number {
    return this.items.length - this.start;
  }

  /** The index of the first item with this id or a higher one. */
  lowerBound(id: number): number {
    const { items, start } = this;
    if (start === items.length) return start;
    // Ids only grow, so an item stands at most as far from the first as its id does; where none is missing, exactly so.
    const farthest = start + Math.max(0, id - items[start]!.id);
    if (farthest < items.length && items[farthest]!.id === id) return farthest;
    let low = start;
    let high = Math.min(farthest, items.length);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (items[middle]!.id < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  joinedWith(next: Block<T>): Block<T> {
    return new Block([...this.items.slice(this.start), ...next.items.slice(next.start)]);
  }

  /** Shifts the shorter side by hand: `splice` would make an array for what it removes. */
  removeAt(index: number): void {
    const { items, start } = this;
    const last = items.length - 1;
    if (index - start < last - index) {
      for (let i = index; i > start; i -= 1) items[i] = items[i - 1];
      items[start] = undefined;
      this.start += 1;
    } else {
      for (let i = index; i < last; i += 1) items[i] = items[i + 1];
      items.pop();
      if (start > 0 && last === start) {
        items.length = 0;
        this.start = 0;
      }
    }
  }
}
