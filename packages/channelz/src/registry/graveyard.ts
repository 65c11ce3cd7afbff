/** The last so many closed objects of a kind, oldest out first. */
export class Graveyard<T> {
  readonly #capacity: number;
  readonly #places: T[] = [];
  #next = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** How many rest here. */
  get size(): number {
    return this.#places.length;
  }

  /** Takes an object in and returns the one that has to go: the oldest, or the object itself where there is no room at all. */
  bury(item: T): T | undefined {
    if (this.#capacity === 0) return item;
    const place = this.#next;
    const oldest = this.#places[place];
    this.#places[place] = item;
    this.#next = place + 1 === this.#capacity ? 0 : place + 1;
    return oldest;
  }
}
