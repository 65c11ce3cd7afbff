/** Limits how many requests start in one turn of the event loop. The others wait for later turns, in order. */
export interface TurnQueue {
  /** Undefined if the caller may start in this turn; else resolves in a later one, after those that already wait. */
  enter(): Promise<void> | undefined;
}

/** Large enough that an ordinary burst needs one turn, and one write to a stdio server. */
const maxPerTurn = 16;

/**
 * Node accepts one connection per turn (libuv since 1.45). If a turn handled all requests that are ready, a gateway with many busy
 * connections would leave new clients in the kernel's queue: with 400 busy connections on two cores, none was accepted within ten seconds.
 */
export function createTurnQueue(max: number = maxPerTurn): TurnQueue {
  const waiting: (() => void)[] = [];
  /** How many start in this turn, including those that are scheduled. */
  let begun = 0;
  let scheduled = 0;
  let isEndScheduled = false;

  // One immediate for each: Node runs microtasks in between, as after an event.
  const schedule = (): void => {
    scheduled += 1;
    setImmediate(runNext);
  };
  const runNext = (): void => {
    scheduled -= 1;
    waiting.shift()?.();
  };
  /** Immediates that are scheduled by an immediate run in the next turn, after a connection was accepted. */
  const endTurn = (): void => {
    begun = Math.min(max, waiting.length - scheduled);
    for (let left = begun; left > 0; left -= 1) schedule();
    isEndScheduled = begun > 0;
    if (isEndScheduled) setImmediate(endTurn);
  };

  return {
    enter() {
      const mayBegin = begun < max;
      if (mayBegin) begun += 1;
      if (!isEndScheduled) {
        isEndScheduled = true;
        setImmediate(endTurn);
      }
      if (mayBegin && waiting.length === 0) return undefined;
      return new Promise((resolve) => {
        waiting.push(resolve);
        if (mayBegin) schedule();
      });
    },
  };
}
