/**
 * The limits of a gateway. What exceeds them is refused or ended, and reported by an event: `refused`, or the event of what it ends, such
 * as `call`.
 */
export interface GatewayLimits {
  /** Bytes of a message from a client. Default 4 MiB. */
  readonly messageBytes: number;
  /** Bytes of a message from a server. A result above it fails its call. Default 16 MiB. */
  readonly resultBytes: number;
  /** Sessions of legacy clients; at the limit, the session that has been idle longest is closed. Default 4096. */
  readonly sessions: number;
  /** Milliseconds after which a session without a stream or a request is closed. Default 1,800,000. */
  readonly sessionIdleMs: number;
  /** Requests in flight of one session, or of one client name and token without sessions. Default 256. */
  readonly clientConcurrency: number;
  /**
   * Requests per second of one client, as an average; bursts of twice as many are allowed. A client is identified by what it cannot
   * choose: its certificate, else the token, else its address. Default: unlimited.
   */
  readonly clientRate: number;
  /** Calls in flight of one server. Default 512. */
  readonly serverConcurrency: number;
  /** Calls per second of one server, as an average; bursts of twice as many are allowed. Default: unlimited. */
  readonly serverRate: number;
  /** Milliseconds that a client waits for the list of one server. Default 5000. */
  readonly listMs: number;
  /**
   * Milliseconds that a server may be silent during a call. Progress, and a request to the client, restart it. It is also how long a call
   * waits to be sent. Default 60,000.
   */
  readonly callIdleMs: number;
  /** Milliseconds for calls in flight to end when a reload changes or removes their server; then they are cancelled. Default 600,000. */
  readonly drainMs: number;
  /** Milliseconds for a client to respond to a server's request. Default 600,000. */
  readonly inputMs: number;
  /** Calls that wait for input from a modern client. Default 1024. */
  readonly parkedCalls: number;
  /** Subscriptions of modern clients. Default 4096. */
  readonly listeners: number;
  /** Characters of a description of a tool, prompt, resource or argument; longer ones are truncated. Default 4096. */
  readonly descriptionLength: number;
  /** Tasks of one client on one server; above it, the one that was used least recently is forgotten. Default 1000. */
  readonly tasks: number;
}

const defaults: GatewayLimits = {
  messageBytes: 4 * 1024 * 1024,
  resultBytes: 16 * 1024 * 1024,
  sessions: 4096,
  sessionIdleMs: 1_800_000,
  clientConcurrency: 256,
  clientRate: Number.POSITIVE_INFINITY,
  serverConcurrency: 512,
  serverRate: Number.POSITIVE_INFINITY,
  listMs: 5000,
  callIdleMs: 60_000,
  drainMs: 600_000,
  inputMs: 600_000,
  parkedCalls: 1024,
  listeners: 4096,
  descriptionLength: 4096,
  tasks: 1000,
};

/** The maximum delay of a Node timer, in milliseconds: a longer one would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Adds the defaults. Throws a TypeError for an unknown limit, or a value that is not greater than 0. */
export function completeLimits(given: Partial<GatewayLimits> = {}): GatewayLimits {
  const limits = { ...defaults };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!(name in defaults)) {
      throw new TypeError(`limits.${name} does not exist. Limits: ${Object.keys(defaults).join(", ")}.`);
    }
    if (typeof value !== "number" || !(value > 0))
      throw new TypeError(`limits.${name} must be greater than 0, not ${value}.`);
    Object.assign(limits, { [name]: name.endsWith("Ms") ? Math.min(value, maxTimerMs) : value });
  }
  return limits;
}

/** Limits how many requests there are per second for each key, such as a client or a server. */
export interface Rates {
  /** Counts a request; false if there were too many for this key. */
  take(key: string): boolean;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** Above this number, buckets that are full again are dropped: a new one would be the same. */
const maxBuckets = 1000;

/** Creates one token bucket for each key: `rate` requests per second on average, with bursts of twice as many. `now` is in milliseconds. */
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
