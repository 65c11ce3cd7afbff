/** An item, which can be in one list at a time. */
export interface Listed<Item extends Listed<Item>> {
  list: IdleList<Item> | undefined;
  before: Item | undefined;
  after: Item | undefined;
}

/**
 * A linked list of waiting items, oldest first. A Set has the same order, but adding and deleting with every request leaves a chain
 * of hash tables behind that only a full garbage collection frees.
 */
export class IdleList<Item extends Listed<Item>> implements Iterable<Item> {
  #first: Item | undefined;
  #last: Item | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): Item | undefined {
    return this.#first;
  }

  /** Appends an item that is in no list. */
  add(item: Item): void {
    item.list = this;
    item.before = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.after = item;
    this.#last = item;
    this.#size += 1;
  }

  /** Removes an item if it is in this list. */
  delete(item: Item): void {
    if (item.list !== this) return;
    const { before, after } = item;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    // A removed item must not keep the others in memory.
    item.list = undefined;
    item.before = undefined;
    item.after = undefined;
    this.#size -= 1;
  }

  /** Iterates over all items; the current one may be removed meanwhile. */
  *[Symbol.iterator](): Generator<Item> {
    for (let item = this.#first; item !== undefined; ) {
      const { after } = item;
      yield item;
      item = after;
    }
  }
}
