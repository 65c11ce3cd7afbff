/** How to stop observing what is observed. Weak, so that being observed keeps nothing alive. */
const stops = new WeakMap<object, (reason: string) => void>();

/** Notes that a server, session or client is observed, and how to stop that. */
export function noteObserved(subject: object, stop: (reason: string) => void): void {
  stops.set(subject, stop);
}

/** Whether a server, session or client is observed. */
export function isObserved(subject: object): boolean {
  return stops.has(subject);
}

/**
 * Stops observing a server, session or client: it leaves the registry, and from now on costs no more than a check. False if
 * it was not observed. It can be observed again.
 */
export function stopObserving(subject: object, reason = "no longer observed"): boolean {
  const stop = stops.get(subject);
  stops.delete(subject);
  stop?.(reason);
  return stop !== undefined;
}
