import { maxOpenFiles } from "./open-files.js";

/** The limits of a listener. A peer that exceeds one is rejected or timed out, and counted. */
export interface ListenLimits {
  /**
   * Open connections. At the limit, a new connection displaces one without an open request: the longest idle one, or a new one if
   * more than half of all have not sent a request yet. If all have an open request, it is refused. At most half of the files that the
   * process may open, because it needs the others for its own connections, files and children. Default 1024.
   */
  readonly maxConnections: number;
  /**
   * Concurrent requests on one connection. HTTP/2 refuses further streams; an HTTP/1.1 connection that pipelines more requests is
   * closed. Default 128.
   */
  readonly maxConcurrentStreams: number;
  /** Bytes of all headers of a request. Default 16384. */
  readonly maxHeaderBytes: number;
  /** Bytes of one request message; Channelz requests need about 40. Default 65536. */
  readonly maxMessageBytes: number;
  /** Milliseconds for a TLS handshake, and then for the first bytes that distinguish HTTP/1.1 from HTTP/2. Default 5000. */
  readonly prefaceTimeoutMs: number;
  /** Milliseconds for the headers of a request, and for the settings that open HTTP/2. Default 10000. */
  readonly headersTimeoutMs: number;
  /** Milliseconds from a request's headers to the end of its body; checked at least once a second. Default 15000. */
  readonly requestTimeoutMs: number;
  /**
   * Milliseconds that a response may be ready while its client reads nothing; over HTTP/2, while it reads less than 32 KiB.
   * Default 30000.
   */
  readonly stallTimeoutMs: number;
  /**
   * Unread response bytes of all connections together that are buffered in this process. Above it, the connections of the slowest
   * clients are closed. Default 268435456 (256 MiB).
   */
  readonly maxUnreadBytes: number;
  /** Milliseconds that a connection may be idle, and that a client stream may stay open. Default 300000. */
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

/** The limit of connections is reached. */
export interface ConnectionShortage {
  readonly maxConnections: number;
  /** How many files the process may open, if that decides the limit. */
  readonly maxOpenFiles: number | undefined;
}

/** The given limit of connections, or what the limit of open files allows. */
export function connectionLimit(maxConnections: number): ConnectionShortage {
  const files = maxOpenFiles();
  const allowed = Math.max(1, Math.floor(files / 2));
  return allowed < maxConnections
    ? { maxConnections: allowed, maxOpenFiles: files }
    : { maxConnections, maxOpenFiles: undefined };
}

/** The given limits, with defaults for missing ones. Throws a TypeError for an unknown limit or one that is not a positive integer. */
export function completeLimits(given: Partial<ListenLimits> = {}): ListenLimits {
  const limits = { ...defaults };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!(name in defaults))
      throw new TypeError(`limits.${name} does not exist. The limits are ${Object.keys(defaults).join(", ")}.`);
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TypeError(`limits.${name} must be a positive integer, not ${value}.`);
    Object.assign(limits, { [name]: value });
  }
  return limits;
}
