/** Numbers that look random, and are the same for the same seed. */
export interface Random {
  /** From `least` up to, and without, `most`; whole where both are and `most` is far enough. */
  between(least: number, most: number): number;
  /** True so often, of 1. */
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  /** Another, with a course of its own. */
  fork(): Random;
}

/** Mulberry32: short, and even enough to spread a load. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number): number => Math.floor(least + next() * (most - least));
  return {
    between,
    chance: (probability) => next() < probability,
    pick: (items) => items[between(0, items.length)]!,
    fork: () => createRandom(between(0, 2 ** 32)),
  };
}
