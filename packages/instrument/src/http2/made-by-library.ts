let depth = 0;

/** Runs what makes a session or a server of HTTP/2 for a library that is observed, and shows it by itself. */
export function makeForLibrary<T>(make: () => T): T {
  depth += 1;
  try {
    return make();
  } finally {
    depth -= 1;
  }
}

/**
 * Whether the session or server of HTTP/2 that is being made at this moment is made by a library that shows it by itself: who
 * observes all sessions and servers leaves this one out.
 */
export function isMadeByLibrary(): boolean {
  return depth > 0;
}
