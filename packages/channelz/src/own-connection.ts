/**
 * A client's end of its connection to a peer. The peer's report about the same connection can be compared with it.
 */
export interface OwnConnection {
  /** The local port; undefined on a Unix socket. */
  readonly localPort: number | undefined;
  /** The connection-level flow-control window that this client granted to the peer, in bytes. */
  readonly grantedWindow: number;
  /** The number of requests started on this connection. */
  readonly requests: number;
}

/**
 * The window that our client grants for a connection. It exceeds what any implementation grants by default (gRPC at most 16 MiB),
 * so that a peer's report shows which of its two windows is ours. Streams keep their own, much smaller windows.
 */
export const grantedWindow: number = 256 * 1024 * 1024;

/**
 * Whether a reported window can only be the one that our client granted. HTTP/2 libraries replenish a window when half of it is
 * used, so it is between half and full size.
 */
export function isGrantedWindow(window: bigint | undefined): boolean {
  return window !== undefined && window >= BigInt(grantedWindow / 2) && window <= BigInt(grantedWindow);
}
