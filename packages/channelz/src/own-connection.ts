/**
 * A client's own end of its connection to a peer, as the client knows it. What the peer reports about the other end can be
 * compared with it.
 */
export interface OwnConnection {
  /** The local port; undefined on a Unix socket. */
  readonly localPort: number | undefined;
  /** The connection-level flow-control window that this client granted to the peer, in bytes. */
  readonly grantedWindow: number;
  /** How many requests began on this connection. */
  readonly requests: number;
}

/**
 * The window that our client grants for a connection: far more than any implementation grants by itself (gRPC stops at
 * 16 MiB), so that a peer's report shows which of its two windows is ours. Streams keep their own, much smaller windows.
 */
export const grantedWindow: number = 256 * 1024 * 1024;

/**
 * Whether a reported window can only be the one that our client granted. HTTP/2 libraries renew a window when half of it is
 * used, so it is between the half and the whole.
 */
export function isGrantedWindow(window: bigint | undefined): boolean {
  return window !== undefined && window >= BigInt(grantedWindow / 2) && window <= BigInt(grantedWindow);
}
