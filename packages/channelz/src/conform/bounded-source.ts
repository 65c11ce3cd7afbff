import { ChannelzError, type ChannelzErrorCode } from "../errors.js";
import type { ReadOptions, Source } from "../source.js";

/** The limits of an examination. */
export interface ExaminationLimits {
  /** The maximum number of calls. Default 400. */
  readonly maxCalls?: number | undefined;
  /** The maximum time for all calls together, in milliseconds. Default 20,000. */
  readonly maxMs?: number | undefined;
  /** The maximum number of objects of each kind to look up; of more, the oldest and the newest. Default 20. */
  readonly maxObjects?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The result of a read: its response, or its error. */
export type Outcome<T> =
  | { readonly value: T; readonly failure?: undefined }
  | { readonly value?: undefined; readonly failure: ChannelzError };

/** Reads a source within limits. */
export interface BoundedReader {
  /** Makes one or more calls. A failure of the peer is an outcome; it throws if a limit is reached or the peer is unavailable. */
  read<T>(call: (source: Source, options: ReadOptions) => Promise<T>): Promise<Outcome<T>>;
  /** The number of calls made. */
  calls(): number;
}

// These fail for every call, so there is nothing to examine.
const fatalCodes: readonly ChannelzErrorCode[] = ["PEER_UNAVAILABLE", "PEER_REFUSED", "LIMIT_REACHED"];
const maxTimeouts = 2;

/** A reader within limits. */
export function createBoundedReader(source: Source, limits: ExaminationLimits): BoundedReader & Disposable {
  const { maxCalls = 400, maxMs = 20_000 } = limits;
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  limits.signal?.addEventListener("abort", abort);
  if (limits.signal?.aborted) abort();
  const timer = setTimeout(abort, maxMs);
  let calls = 0;
  let timeouts = 0;

  function assertWithinLimits(): void {
    if (calls >= maxCalls) throw new ChannelzError("LIMIT_REACHED", `The maximum of ${maxCalls} calls is reached.`);
    if (limits.signal?.aborted) throw new ChannelzError("PEER_TIMEOUT", "The caller aborted.");
    if (controller.signal.aborted) {
      throw new ChannelzError("PEER_TIMEOUT", `The calls took ${maxMs} ms, the maximum for all of them.`);
    }
  }

  const counted =
    <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      assertWithinLimits();
      calls += 1;
      return await read(...args);
    };
  const bounded: Source = {
    getTopChannels: counted(source.getTopChannels),
    getServers: counted(source.getServers),
    getServer: counted(source.getServer),
    getServerSockets: counted(source.getServerSockets),
    getChannel: counted(source.getChannel),
    getSubchannel: counted(source.getSubchannel),
    getSocket: counted(source.getSocket),
  };

  return {
    async read(call) {
      try {
        return { value: await call(bounded, { signal: controller.signal }) };
      } catch (error) {
        if (!ChannelzError.is(error)) throw error;
        assertWithinLimits();
        if (fatalCodes.includes(error.code)) throw error;
        if (error.code === "PEER_TIMEOUT") timeouts += 1;
        if (timeouts >= maxTimeouts) throw error;
        return { failure: error };
      }
    },
    calls: () => calls,
    [Symbol.dispose]() {
      clearTimeout(timer);
      limits.signal?.removeEventListener("abort", abort);
    },
  };
}
