/** What can be in one waiting list at a time. */
export interface Listed<Item extends Listed<Item>> {
  list: IdleList<Item> | undefined;
  before: Item | undefined;
  after: Item | undefined;
}

/**
 * What waits, those who began first first. A Set would keep that order as well; but one that is added to and deleted from with
 * every request leaves a chain of tables behind that only a collection of the whole heap ends.
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

  /** Adds what is in no list, as the last. */
  add(item: Item): void {
    item.list = this;
    item.before = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.after = item;
    this.#last = item;
    this.#size += 1;
  }

  /** Takes out what is in it; nothing else. */
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

  /** All of them; the one that was given last may be taken out meanwhile. */
  *[Symbol.iterator](): Generator<Item> {
    for (let item = this.#first; item !== undefined; ) {
      const { after } = item;
      yield item;
      item = after;
    }
  }
}
