/** Limits how many requests start in one turn of the event loop. The others wait for later turns, in order. */
export interface TurnQueue {
  /** Runs a task in this turn, or in a later one after the tasks that already wait. Returns whether it has run. */
  run(task: () => void): boolean;
}

/** Large enough that an ordinary burst needs one turn, and one write to a stdio server. */
const maxPerTurn = 16;

/**
 * Node accepts one connection per turn (libuv since 1.45). If a turn handled all requests that are ready, a gateway with many busy
 * connections would leave new clients in the kernel's queue: with 400 busy connections on two cores, none was accepted within ten seconds.
 */
export function createTurnQueue(max: number = maxPerTurn): TurnQueue {
  const waiting: (() => void)[] = [];
  let begun = 0;
  let scheduled = 0;

  const endTurn = (): void => {
    begun = 0;
  };
  // One immediate per task: Node runs microtasks in between, as after an event.
  const schedule = (): void => {
    scheduled += 1;
    setImmediate(runNext);
  };
  const runNext = (): void => {
    scheduled -= 1;
    const task = waiting.shift();
    // Immediates that are scheduled by an immediate run in the next turn, after a connection was accepted.
    if (scheduled === 0) while (scheduled < Math.min(max, waiting.length)) schedule();
    task?.();
  };

  return {
    run(task) {
      if (waiting.length > 0 || begun >= max) {
        waiting.push(task);
        if (scheduled < max) schedule();
        return false;
      }
      if (begun === 0) setImmediate(endTurn);
      begun += 1;
      task();
      return true;
    },
  };
}
