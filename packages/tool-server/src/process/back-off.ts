/** How long to leave alone what has failed `failures` times in a row: doubles from `firstMs` up to `mostMs`. */
export function backOffMs(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** Math.min(failures - 1, 30), mostMs);
}

/** A delay between half of `delayMs` and all of it, so that those who failed together do not come back together. */
export function withJitter(delayMs: number, random: () => number = Math.random): number {
  return Math.round(delayMs * (0.5 + random() / 2));
}
