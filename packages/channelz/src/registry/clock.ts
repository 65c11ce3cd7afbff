/** Returns the time in milliseconds since the epoch; `Date` is one. */
export interface Clock {
  now(): number;
}

/** A clock that can also write the time where it belongs: returned from a function, a time may cost an allocation. */
export interface StampClock extends Clock {
  /** Writes the time into a cell. */
  stamp(cells: Float64Array, index: number): void;
}

/**
 * A clock that is read once a turn of the event loop and remembered until the turn ends.
 *
 * Reading the time costs more than all the rest of counting a call. In a process that blocks the event loop, what happens late in a turn has the
 * time of its beginning. The reset must not be unreferenced: only a referenced immediate keeps the loop from blocking in
 * its poll phase with a stale time remembered.
 */
export function createTurnClock(): StampClock {
  // A typed array, since a number that is no small integer would be boxed anywhere else.
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

/** A clock that is read each time it is asked. */
export function stampClockOf(clock: Clock): StampClock {
  return {
    now: () => clock.now(),
    stamp(cells, index) {
      cells[index] = clock.now();
    },
  };
}
