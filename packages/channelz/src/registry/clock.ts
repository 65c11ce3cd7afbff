/** Tells the time in milliseconds since the epoch; `Date` is one. */
export interface Clock {
  now(): number;
}

/**
 * A clock that is read once a turn of the event loop and remembered until the turn ends.
 *
 * Reading the time costs more than all the rest of counting a call, and no reader of a diagnostic can tell two moments
 * of one turn apart. The reset must not be unreferenced: only a referenced immediate keeps the loop from blocking in
 * its poll phase with a stale time remembered.
 */
export function createTurnClock(): Clock {
  // A typed array, since a number that is no small integer would be boxed anywhere else.
  const remembered = new Float64Array(1);
  const forget = (): void => {
    remembered[0] = 0;
  };
  const read = (): number => {
    const now = Date.now();
    remembered[0] = now;
    setImmediate(forget);
    return now;
  };
  return { now: () => remembered[0] || read() };
}
