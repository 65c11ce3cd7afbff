/** A task whose concurrent callers share one run. */
export interface SingleFlight<T> {
  /**
   * The result of the run in progress, or of a new one. Aborting rejects only this caller, with the signal's reason; the run is aborted
   * when no caller is left.
   */
  join(signal?: AbortSignal): Promise<T>;
  /** Starts a run that continues without callers, unless one is in progress. Its failure is not reported here. */
  begin(): void;
  /** Whether a run that a caller would join is in progress. */
  readonly isRunning: boolean;
  /** Aborts the run in progress, rejects new callers, and resolves when nothing runs. */
  close(reason: Error): Promise<void>;
}

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  callers: number;
}

/** Shares the runs of a task. The task should settle soon after its signal aborts; the next run waits for that. */
export function createSingleFlight<T>(task: (signal: AbortSignal) => Promise<T>): SingleFlight<T> {
  let flight: Flight<T> | undefined;
  let lastSettled: Promise<void> = Promise.resolve();
  let closedBy: Error | undefined;

  const startRun = (): Flight<T> => {
    const controller = new AbortController();
    const result = lastSettled.then(() => {
      controller.signal.throwIfAborted();
      return task(controller.signal);
    });
    const started: Flight<T> = { result, controller, callers: 0 };
    const settle = (): void => {
      if (flight === started) flight = undefined;
    };
    lastSettled = result.then(settle, settle);
    flight = started;
    return started;
  };

  const leave = (left: Flight<T>): void => {
    left.callers -= 1;
    if (left.callers > 0 || flight !== left) return;
    // A later caller gets a new run, after this one.
    flight = undefined;
    left.controller.abort(new DOMException("No caller waits for the result any more.", "AbortError"));
  };

  return {
    async join(signal) {
      if (closedBy !== undefined) throw closedBy;
      signal?.throwIfAborted();
      const joined = flight ?? startRun();
      joined.callers += 1;
      if (signal === undefined) return joined.result;
      return new Promise<T>((resolve, reject) => {
        const onAbort = (): void => {
          leave(joined);
          reject(signal.reason);
        };
        signal.addEventListener("abort", onAbort, { once: true });
        joined.result.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
      });
    },
    begin() {
      if (closedBy !== undefined || flight !== undefined) return;
      startRun().callers += 1;
    },
    get isRunning() {
      return flight !== undefined;
    },
    async close(reason) {
      closedBy ??= reason;
      flight?.controller.abort(closedBy);
      await lastSettled;
    },
  };
}
