/** Returns the time in milliseconds since the epoch; `Date` is one. */
export interface Clock {
  now(): number;
}

/** A clock that can also write the time into a cell, because returning a number may allocate. */
export interface StampClock extends Clock {
  /** Writes the time into a cell. */
  stamp(cells: Float64Array, index: number): void;
}

/**
 * A clock that reads the time once per turn of the event loop.
 *
 * Reading the time costs more than everything else in counting a call. In a process that blocks the event loop, events late in a
 * turn have the time of its beginning. The immediate must not be unreferenced: only a referenced one keeps the loop from blocking in
 * its poll phase with a stale time.
 */
export function createTurnClock(): StampClock {
  // A typed array, because a number that is not a small integer would be boxed anywhere else.
  const remembered = new Float64Array(1);
  const forget = (): void => {
    remembered[0] = 0;
  };
  const read = (): void => {
    remembered[0] = Date.now();
    setImmediate(forget);
  };
  return {
    now() {
      if (remembered[0] === 0) read();
      return remembered[0]!;
    },
    stamp(cells, index) {
      const now = remembered[0]!;
      if (now === 0) {
        read();
        cells[index] = remembered[0]!;
      }
      // A branch of its own: after the call above, V8 would load everything again.
      else cells[index] = now;
    },
  };
}

/** A clock that reads the time on every call. */
export function stampClockOf(clock: Clock): StampClock {
  return {
    now: () => clock.now(),
    stamp(cells, index) {
      cells[index] = clock.now();
    },
  };
}
