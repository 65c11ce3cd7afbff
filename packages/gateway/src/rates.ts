/** Bounds how many requests each client sends in a second. */
export interface Rates {
  /** Counts a request; false if the client has sent too many. */
  take(key: string): boolean;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** Above this number, buckets that are full again are dropped: they say nothing. */
const maxBuckets = 1000;

/** Creates one bucket for each key: `rate` requests a second as an average, and twice as many at once. `now` is in milliseconds. */
export function createRates(rate: number, now: () => number = Date.now): Rates {
  const capacity = rate * 2;
  const buckets = new Map<string, Bucket>();

  const refill = (bucket: Bucket, at: number): void => {
    bucket.tokens = Math.min(capacity, bucket.tokens + ((at - bucket.filledAt) / 1000) * rate);
    bucket.filledAt = at;
  };

  return {
    take(key) {
      if (rate === Number.POSITIVE_INFINITY) return true;
      const at = now();
      let bucket = buckets.get(key);
      if (bucket === undefined) {
        if (buckets.size >= maxBuckets) {
          for (const [other, known] of buckets) {
            refill(known, at);
            if (known.tokens >= capacity) buckets.delete(other);
          }
        }
        bucket = { tokens: capacity, filledAt: at };
        buckets.set(key, bucket);
      }
      refill(bucket, at);
      if (bucket.tokens < 1) return false;
      bucket.tokens -= 1;
      return true;
    },
  };
}
