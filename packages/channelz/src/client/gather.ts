import { ChannelzError } from "../errors.js";
import { allowManyListeners } from "../many-listeners.js";
import type { Source } from "../source.js";

/** A process among several that are read together. */
export interface OriginSource {
  /** A name that is unique among them. */
  readonly origin: string;
  /** Its target, as people write it. */
  readonly target: string;
  readonly source: Source;
}

/** The result of reading one process, or its error. */
export type Gathered<T> = { readonly origin: OriginSource } & (
  | { readonly value: T; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: ChannelzError }
);

/** Options for reading several processes together. */
export interface GatherOptions {
  readonly signal?: AbortSignal | undefined;
  /** The number of processes to read at a time. Default 64. */
  readonly concurrency?: number | undefined;
  /** The timeout for reading one process, in milliseconds. Default 30,000; 0 for none. */
  readonly deadlineMs?: number | undefined;
  /**
   * How long to wait for processes that have not responded at all after all others are complete, in milliseconds. Default 3,000.
   */
  readonly graceMs?: number | undefined;
}

const defaultConcurrency = 64;

/**
 * Reads several processes at once and resolves with one entry for each, in order. A process that fails or times out has an error;
 * the others have a value. `read` gets a source and a signal, which aborts at the deadline of this process; it may then resolve with
 * partial results. Never rejects with a ChannelzError.
 */
export async function gatherOrigins<T>(
  origins: readonly OriginSource[],
  read: (source: Source, signal: AbortSignal, origin: OriginSource) => Promise<T>,
  options: GatherOptions = {},
): Promise<Gathered<T>[]> {
  const { signal, concurrency = defaultConcurrency, deadlineMs = 30_000, graceMs = 3000 } = options;
  const results: Gathered<T>[] = [];
  const reads = origins.map((origin) => createOriginRead(origin, signal));
  let next = 0;
  let isAnyComplete = false;
  let graceTimer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Gives up on processes that have never responded, once nothing else is in progress. The time restarts whenever one ends. If all others
   * failed, they say nothing about how long a response takes here.
   */
  const limitSilent = (): void => {
    clearTimeout(graceTimer);
    if (next < reads.length || !isAnyComplete) return;
    const remaining = reads.filter(({ isOpen }) => isOpen());
    if (remaining.some(({ hasResponded }) => hasResponded())) return;
    graceTimer = setTimeout(() => {
      for (const each of remaining) if (!each.hasResponded()) each.giveUp("it has not responded, and all others have");
    }, graceMs);
  };

  const work = async (): Promise<void> => {
    for (;;) {
      const index = next;
      const current = reads[index];
      if (current === undefined) return;
      next += 1;
      const result = await current.run(read, deadlineMs);
      results[index] = result;
      isAnyComplete ||= result.error === undefined;
      limitSilent();
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(concurrency, reads.length)) }, work));
  clearTimeout(graceTimer);
  return results;
}

/** The reading of one process: observes whether it responds, and ends at its deadline even if `read` ignores the signal. */
function createOriginRead(origin: OriginSource, outer: AbortSignal | undefined) {
  if (outer !== undefined) allowManyListeners(outer);
  const controller = new AbortController();
  let responses = 0;
  let isOpen = true;
  let stop: (error: ChannelzError) => void = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = reject;
  });
  stopped.catch(() => {});

  const giveUp = (why: string): void => {
    const error = new ChannelzError("PEER_TIMEOUT", `Stopped reading ${origin.target}: ${why}.`);
    controller.abort(error);
    // Lets `read` return partial results first.
    setTimeout(() => stop(error), 0);
  };

  const observed = <A extends unknown[], R>(read: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      try {
        const response = await read(...args);
        responses += 1;
        return response;
      } catch (error) {
        if (ChannelzError.is(error, "NOT_FOUND")) responses += 1;
        throw error;
      }
    };
  };
  const { source } = origin;
  const observedSource: Source = {
    getTopChannels: observed((...args) => source.getTopChannels(...args)),
    getServers: observed((...args) => source.getServers(...args)),
    getServer: observed((...args) => source.getServer(...args)),
    getServerSockets: observed((...args) => source.getServerSockets(...args)),
    getChannel: observed((...args) => source.getChannel(...args)),
    getSubchannel: observed((...args) => source.getSubchannel(...args)),
    getSocket: observed((...args) => source.getSocket(...args)),
  };

  return {
    isOpen: () => isOpen,
    hasResponded: () => responses > 0,
    giveUp,
    async run<T>(
      read: (source: Source, signal: AbortSignal, origin: OriginSource) => Promise<T>,
      deadlineMs: number,
    ): Promise<Gathered<T>> {
      const timer =
        deadlineMs > 0
          ? setTimeout(() => giveUp(`reading it took longer than ${deadlineMs} ms`), deadlineMs)
          : undefined;
      const onAbort = (): void => controller.abort(outer?.reason);
      if (outer?.aborted) onAbort();
      outer?.addEventListener("abort", onAbort);
      try {
        const reading = read(observedSource, controller.signal, origin);
        reading.catch(() => {});
        return { origin, value: await Promise.race([reading, stopped]) };
      } catch (error) {
        if (!ChannelzError.is(error)) throw error;
        const reason: unknown = controller.signal.reason;
        return { origin, error: ChannelzError.is(reason) ? reason : error };
      } finally {
        isOpen = false;
        clearTimeout(timer);
        outer?.removeEventListener("abort", onAbort);
      }
    },
  };
}
