let depth = 0;

/** Runs what makes a session or a server of HTTP/2 for grpc-js. */
export function insideGrpcJs<T>(make: () => T): T {
  depth += 1;
  try {
    return make();
  } finally {
    depth -= 1;
  }
}

/**
 * Whether the session or server of HTTP/2 that is being made at this moment is made by an observed grpc-js, which shows it by
 * itself: who observes all sessions and servers leaves this one out.
 */
export function isInsideGrpcJs(): boolean {
  return depth > 0;
}
