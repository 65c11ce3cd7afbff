import { eachChange } from "../each-change.js";

/** The status of a service; the empty name is the whole server. */
export type ServingStatus = "UNKNOWN" | "SERVING" | "NOT_SERVING";

/** The health of the services of a process, as `grpc.health.v1` reports it. */
export interface Health {
  /** Sets the status of a service and notifies its watchers. No effect after `shutdown`. */
  set(service: string, status: ServingStatus): void;
  /** The status of a service, or undefined if it was never set. */
  get(service: string): ServingStatus | undefined;
  /** The status of every service that was set. */
  list(): ReadonlyMap<string, ServingStatus>;
  /** Sets every service to NOT_SERVING; watchers are notified, and then their streams end. */
  shutdown(): void;
  /**
   * The current status and every change, undefined while the service is unknown. Changes that are faster than the reader are
   * skipped. Ends on `signal` and after `shutdown`. Throws a RangeError if there are too many watchers.
   */
  watch(service: string, signal: AbortSignal): AsyncIterable<ServingStatus | undefined>;
}

/** The limits of the health service. */
export interface HealthOptions {
  /** The maximum number of concurrent watchers; another one is rejected with RESOURCE_EXHAUSTED. Default 1000. */
  readonly maxWatchers?: number;
}

/** Creates the health of a process whose server as a whole (the empty name) is serving. */
export function createHealth(options: HealthOptions = {}): Health {
  const maxWatchers = options.maxWatchers ?? 1000;
  const statuses = new Map<string, ServingStatus>([["", "SERVING"]]);
  const watchers = new Set<() => void>();
  let isShutDown = false;
  const wakeAll = (): void => {
    for (const wake of watchers) wake();
  };

  async function* watch(service: string, signal: AbortSignal): AsyncGenerator<ServingStatus | undefined> {
    if (watchers.size >= maxWatchers)
      throw new RangeError(`The limit of ${maxWatchers} health watchers is reached. Try again later.`);
    const watchStatuses = (watcher: () => void): (() => void) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    };
    let reported: { readonly status: ServingStatus | undefined } | undefined;
    for await (const _ of eachChange(watchStatuses, signal)) {
      const status = statuses.get(service);
      const isLast = isShutDown;
      if (reported === undefined || reported.status !== status) {
        reported = { status };
        yield status;
      }
      if (isLast) return;
    }
  }

  return {
    set(service, status) {
      if (isShutDown) return;
      statuses.set(service, status);
      wakeAll();
    },
    get: (service) => statuses.get(service),
    list: () => new Map(statuses),
    shutdown() {
      isShutDown = true;
      for (const service of statuses.keys()) statuses.set(service, "NOT_SERVING");
      wakeAll();
    },
    watch,
  };
}
