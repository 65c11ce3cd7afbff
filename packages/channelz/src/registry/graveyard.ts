/** A ring buffer of the last closed objects of a kind. */
export class Graveyard<T> {
  readonly #capacity: number;
  readonly #places: T[] = [];
  #next = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Adds an object and returns the one that must be removed: the oldest, or the object itself if the limit is 0. */
  bury(item: T): T | undefined {
    if (this.#capacity === 0) return item;
    const place = this.#next;
    const oldest = this.#places[place];
    this.#places[place] = item;
    this.#next = place + 1 === this.#capacity ? 0 : place + 1;
    return oldest;
  }
}
