/** The bounds of a listener. Whatever a peer does beyond them is refused or timed out, and counted. */
export interface ListenLimits {
  /**
   * Connections at once. At the bound a newcomer takes the place of the connection that has gone longest without an open
   * request; if every connection has one, the new connection is refused. Default 1024.
   */
  readonly maxConnections: number;
  /**
   * Requests at once on one connection. HTTP/2 refuses a stream above it; the connection of a client of HTTP/1.1 that sends more
   * requests without waiting for responses is closed. Default 128.
   */
  readonly maxConcurrentStreams: number;
  /** Bytes of a request's headers together. Default 16384. */
  readonly maxHeaderBytes: number;
  /** Bytes of one request message; the largest that Channelz knows takes about 40. Default 65536. */
  readonly maxMessageBytes: number;
  /** Milliseconds for a TLS handshake, and then for the first bytes that distinguish HTTP/1.1 from HTTP/2. Default 5000. */
  readonly prefaceTimeoutMs: number;
  /** Milliseconds for the headers of a request, and for the settings that open HTTP/2. Default 10000. */
  readonly headersTimeoutMs: number;
  /** Milliseconds from a request's headers to the end of its body; checked at least once a second. Default 15000. */
  readonly requestTimeoutMs: number;
  /**
   * Milliseconds that a response may be ready while its caller reads none of it; over HTTP/2, where other streams may proceed, less
   * than 32 KiB of it. Default 30000.
   */
  readonly stallTimeoutMs: number;
  /**
   * Bytes of responses that may wait in this process for clients to read them, of all connections together. Above it, the connections
   * of the slowest clients are closed. Default 268435456 (256 MiB).
   */
  readonly maxUnreadBytes: number;
  /** Milliseconds that a connection may stay without a request, and that a caller's stream of messages may stay open. Default 300000. */
  readonly idleTimeoutMs: number;
}

const defaults: ListenLimits = {
  maxConnections: 1024,
  maxConcurrentStreams: 128,
  maxHeaderBytes: 16_384,
  maxMessageBytes: 65_536,
  prefaceTimeoutMs: 5000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  stallTimeoutMs: 30_000,
  maxUnreadBytes: 268_435_456,
  idleTimeoutMs: 300_000,
};

/** The defaults with what is given in their place. Throws a TypeError for what is not a positive integer. */
export function completeLimits(given: Partial<ListenLimits> = {}): ListenLimits {
  const limits = { ...defaults };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!(name in defaults))
      throw new TypeError(`limits.${name} is no limit of a listener; there is ${Object.keys(defaults).join(", ")}.`);
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TypeError(`limits.${name} must be a positive integer, not ${value}.`);
    Object.assign(limits, { [name]: value });
  }
  return limits;
}
