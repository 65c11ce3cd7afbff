/** A task that runs at most once at a time, however many want its result. */
export interface SingleFlight<T> {
  /**
   * The result of the run in progress, or of a new one. Aborting takes back this caller alone and rejects with the signal's
   * reason; the run is aborted when nobody is left who wants it.
   */
  join(signal?: AbortSignal): Promise<T>;
  /** Starts a run that continues although no caller waits for it, unless one is in progress. Its failure is not reported here. */
  begin(): void;
  /** Whether there is a run that a caller would join. */
  readonly isRunning: boolean;
  /** Aborts the run in progress, rejects new callers, and resolves when nothing runs. */
  close(reason: Error): Promise<void>;
}

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  wanted: number;
}

/** Shares the runs of a task. The task should settle soon after its signal aborts; the next run waits for that. */
export function createSingleFlight<T>(task: (signal: AbortSignal) => Promise<T>): SingleFlight<T> {
  let flight: Flight<T> | undefined;
  let lastSettled: Promise<void> = Promise.resolve();
  let closedBy: Error | undefined;

  const depart = (): Flight<T> => {
    const controller = new AbortController();
    const result = lastSettled.then(() => {
      controller.signal.throwIfAborted();
      return task(controller.signal);
    });
    const departed: Flight<T> = { result, controller, wanted: 0 };
    const settle = (): void => {
      if (flight === departed) flight = undefined;
    };
    lastSettled = result.then(settle, settle);
    flight = departed;
    return departed;
  };

  const leave = (left: Flight<T>): void => {
    left.wanted -= 1;
    if (left.wanted > 0 || flight !== left) return;
    // A caller that comes from now on gets a run of its own, after this one.
    flight = undefined;
    left.controller.abort(new DOMException("Nobody waits for the result any more.", "AbortError"));
  };

  return {
    async join(signal) {
      if (closedBy !== undefined) throw closedBy;
      signal?.throwIfAborted();
      const joined = flight ?? depart();
      joined.wanted += 1;
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
      depart().wanted += 1;
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
