import { ChannelzError } from "../errors.js";
import { allowManyListeners } from "../many-listeners.js";
import type { ReadOptions, Source } from "../source.js";

/** The limits of a {@link boundSource}. */
export interface SourceBounds {
  /** Ends all reads, even of a source that ignores signals. */
  readonly signal: AbortSignal;
  /** The maximum number of bytes of text and data in all responses together. */
  readonly maxBytes: number;
}

/** After this many reads other tasks can run: the reads of a registry in this process would otherwise run as one task. */
const readsPerTurn = 200;

/** Wraps a Source for one pass over all objects: it ends in time, returns a limited amount, and lets other tasks run. */
export function boundSource(source: Source, { signal, maxBytes }: SourceBounds): Source {
  allowManyListeners(signal);
  let reads = 0;
  let bytes = 0;
  let cancel = (_: unknown): void => {};
  const cancelled = new Promise<never>((_, reject) => {
    cancel = reject;
  });
  cancelled.catch(() => {});
  const stop = (): void => cancel(abortError(signal));
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });

  const bounded = async <T extends object>(read: (options: ReadOptions) => Promise<T>): Promise<T> => {
    if (signal.aborted) throw abortError(signal);
    reads += 1;
    if (reads % readsPerTurn === 0) await new Promise((resolve) => setTimeout(resolve));
    const response = await Promise.race([read({ signal }), cancelled]);
    bytes += approximateSize(response, maxBytes - bytes);
    if (bytes <= maxBytes) return response;
    throw tooManyBytes(maxBytes);
  };
  return {
    getTopChannels: (request) => bounded((options) => source.getTopChannels(request, options)),
    getServers: (request) => bounded((options) => source.getServers(request, options)),
    getServer: (id) => bounded((options) => source.getServer(id, options)),
    getServerSockets: (id, request) => bounded((options) => source.getServerSockets(id, request, options)),
    getChannel: (id) => bounded((options) => source.getChannel(id, options)),
    getSubchannel: (id) => bounded((options) => source.getSubchannel(id, options)),
    getSocket: (id, { summary = false } = {}) => bounded((options) => source.getSocket(id, { ...options, summary })),
  };
}

/** The approximate size of a message in memory, without its structure; counting stops above the limit. */
export function approximateSize(value: unknown, limit: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  if (value instanceof Uint8Array) return value.byteLength;
  let size = 8;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && size <= limit; index += 1) {
      size += approximateSize(value[index], limit - size);
    }
    return size;
  }
  const fields = value as Record<string, unknown>;
  for (const name in fields) {
    if (size > limit) break;
    if (name !== "$typeName") size += approximateSize(fields[name], limit - size);
  }
  return size;
}

/** The error if all objects together are larger than the caller allows. */
export function tooManyBytes(maxBytes: number): ChannelzError {
  return new ChannelzError(
    "LIMIT_REACHED",
    `The objects have more than ${maxBytes} bytes, the maximum for one read of all objects. Raise the limit to read more.`,
  );
}

/** The error if not all objects were read in time. */
export function notInTime(): ChannelzError {
  return new ChannelzError("PEER_TIMEOUT", "Not all objects were read in time.");
}

function abortError({ reason }: AbortSignal): ChannelzError {
  if (ChannelzError.is(reason)) return reason;
  const isTimeout = reason instanceof Error && reason.name === "TimeoutError";
  return isTimeout ? notInTime() : new ChannelzError("PEER_TIMEOUT", "The read was cancelled.");
}
