import { eachChange } from "@wirescope/channelz/internal";

/** A task that reports events while it runs, for any number of followers. */
export interface FollowedRun<Event, Result> {
  /** Yields all events, also earlier ones, and returns the result. Throws its failure, or the reason of the signal. */
  follow(signal: AbortSignal): AsyncGenerator<Event, Result>;
}

export function startFollowedRun<Event, Result>(
  start: (report: (event: Event) => void) => Promise<Result>,
): FollowedRun<Event, Result> {
  const events: Event[] = [];
  const listeners = new Set<() => void>();
  let hasEnded = false;
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  const watch = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const result = start((event) => {
    events.push(event);
    notify();
  }).finally(() => {
    hasEnded = true;
    notify();
  });
  result.catch(() => {});
  return {
    async *follow(signal) {
      let next = 0;
      for await (const _ of eachChange(watch, signal)) {
        for (; next < events.length; next++) yield events[next] as Event;
        if (hasEnded) return await result;
      }
      throw signal.reason;
    },
  };
}
