/** What can be walked through, and yet is kept alive by nobody here. */
export class WeakBag<T extends object> {
  readonly #refs = new Set<WeakRef<T>>();
  readonly #finalizers = new FinalizationRegistry<WeakRef<T>>((ref) => this.#refs.delete(ref));

  add(item: T): void {
    const ref = new WeakRef(item);
    this.#refs.add(ref);
    this.#finalizers.register(item, ref);
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const ref of this.#refs) {
      const item = ref.deref();
      if (item !== undefined) yield item;
    }
  }
}
