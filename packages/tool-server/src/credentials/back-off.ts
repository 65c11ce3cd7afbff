/** How long to leave alone what has failed `failures` times in a row: doubles from `firstMs` up to `mostMs`. */
export function backOffMs(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** Math.min(failures - 1, 30), mostMs);
}
