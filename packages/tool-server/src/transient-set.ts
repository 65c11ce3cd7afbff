import { TransientMap } from "./transient-map.js";

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
