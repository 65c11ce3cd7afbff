/** Bins per doubling of the duration: quantiles are accurate to 5 %. */
const perOctave = 8;
/** The upper bound of the first bin, in milliseconds. */
const firstMs = 0.125;
/** Up to 32 minutes; longer durations are counted in the last bin. */
const binCount = 24 * perOctave;

/** Counts durations in bins whose width grows with the duration. */
export class LatencyHistogram {
  readonly #bins = new Uint32Array(binCount);
  #total = 0;

  count(durationMs: number): void {
    const bin = binOf(durationMs);
    this.#bins[bin] = (this.#bins[bin] ?? 0) + 1;
    this.#total += 1;
  }

  /** Adds the counts of another one. */
  add(other: LatencyHistogram): void {
    if (other.#total === 0) return;
    for (let bin = 0; bin < binCount; bin += 1) this.#bins[bin] = (this.#bins[bin] ?? 0) + (other.#bins[bin] ?? 0);
    this.#total += other.#total;
  }

  /** The duration that this share of all durations does not exceed, in milliseconds; undefined if nothing was counted. */
  quantile(share: number): number | undefined {
    if (this.#total === 0) return undefined;
    const rank = Math.max(1, Math.ceil(share * this.#total));
    let seen = 0;
    for (let bin = 0; bin < binCount; bin += 1) {
      seen += this.#bins[bin] ?? 0;
      // The middle of the bin, on its scale.
      if (seen >= rank) return firstMs * 2 ** ((bin - 0.5) / perOctave);
    }
    return undefined;
  }

  clear(): void {
    this.#bins.fill(0);
    this.#total = 0;
  }
}

function binOf(durationMs: number): number {
  if (!(durationMs > firstMs)) return 0;
  return Math.min(binCount - 1, Math.ceil(Math.log2(durationMs / firstMs) * perOctave));
}
