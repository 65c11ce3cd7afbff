/** The bounds of a gateway. What is beyond them is refused, and told in an event. */
export interface GatewayLimits {
  /** Bytes of a message that a client sends. Default 4 MiB. */
  readonly messageBytes: number;
  /** Sessions of the older era at once; at the bound, the one that has been idle longest gives way. Default 4096. */
  readonly sessions: number;
  /** Milliseconds after which a session is ended that has neither a stream nor a request. Default 1,800,000. */
  readonly sessionIdleMs: number;
  /** Requests of one session in flight, or of one client name and token without sessions. Default 256. */
  readonly clientConcurrency: number;
  /**
   * Requests of one client in a second, as an average; twice as many may come at once. A client is what it cannot choose itself: its
   * certificate, else the token, else its address. Default: no bound.
   */
  readonly clientRate: number;
  /** Calls of one server in flight. Default 512. */
  readonly serverConcurrency: number;
  /** Calls of one server in a second, as an average; twice as many may come at once. Default: no bound. */
  readonly serverRate: number;
  /** Milliseconds that a list of one server is waited for. Default 5000. */
  readonly listMs: number;
  /** Milliseconds that a server may be silent during a call. Progress, and a question to the client, begin it anew. Default 60,000. */
  readonly callIdleMs: number;
  /** Milliseconds for calls in flight to end when a reload changes or removes their server; then they are called off. Default 600,000. */
  readonly drainMs: number;
  /** Milliseconds for a client to answer what a server asks. Default 600,000. */
  readonly inputMs: number;
  /** Calls at once that wait for a client of the newer era to come back with input. Default 1024. */
  readonly parkedCalls: number;
  /** Streams at once on which clients of the newer era listen. Default 4096. */
  readonly listeners: number;
}

const defaults: GatewayLimits = {
  messageBytes: 4 * 1024 * 1024,
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
};

/** The longest that a timer of Node can wait, in milliseconds: one that is longer would fire at once. */
const longestMs = 2 ** 31 - 1;

/** The defaults with what is given in their place. Throws a TypeError for what is no limit, or not above 0. */
export function completeLimits(given: Partial<GatewayLimits> = {}): GatewayLimits {
  const limits = { ...defaults };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!(name in defaults)) {
      throw new TypeError(`limits.${name} is no limit of a gateway; there is ${Object.keys(defaults).join(", ")}.`);
    }
    if (typeof value !== "number" || !(value > 0)) throw new TypeError(`limits.${name} must be above 0, not ${value}.`);
    Object.assign(limits, { [name]: name.endsWith("Ms") ? Math.min(value, longestMs) : value });
  }
  return limits;
}
