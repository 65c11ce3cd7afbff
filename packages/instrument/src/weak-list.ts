export class WeakList<T extends object> {
  #refs: WeakRef<T>[] = [];
  #pruneAt = 64;

  add(item: T): void {
    this.#refs.push(new WeakRef(item));
    if (this.#refs.length < this.#pruneAt) return;
    this.#refs = this.#refs.filter((ref) => ref.deref() !== undefined);
    this.#pruneAt = Math.max(64, this.#refs.length * 2);
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const ref of this.#refs) {
      const item = ref.deref();
      if (item !== undefined) yield item;
    }
  }
}
