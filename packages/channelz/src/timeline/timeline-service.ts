import type { DescFile } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import type { Source } from "../source.js";
import { sampleWhileWatched } from "./sample-while-watched.js";
import { timelineFiles, timelineMessages, timelineRoutes } from "./timeline-routes.js";

/** The timeline of a source, to serve next to Channelz (`ListenOptions.services`). */
export interface TimelineServiceParts {
  readonly files: readonly DescFile[];
  readonly routes: (router: ConnectRouter) => void;
  /** The encoded messages of Watch, for a service that adds others to the same stream. */
  watch(signal: AbortSignal): AsyncGenerator<Uint8Array>;
  /** Ends sampling. */
  close(): void;
}

/** Options for serving the timeline of a source. */
export interface TimelineServiceOptions {
  /** The address of the process; empty for this one. */
  readonly target?: string | undefined;
  /** Whether samples are taken every 10 s without watchers. If not, history begins with the first watcher. */
  readonly keepsHistory: boolean;
}

const historyMs = 15 * 60_000;
const idleIntervalMs = 10_000;
const maxBytes = 32 * 2 ** 20;

/** Samples a source, every second while there are watchers, and keeps the last 15 minutes in limited memory. */
export function createTimelineService(source: Source, options: TimelineServiceOptions): TimelineServiceParts {
  const watched = sampleWhileWatched(source, {
    intervalMs: 1000,
    ...(options.keepsHistory && { idleIntervalMs }),
    ...(options.target !== undefined && { target: options.target }),
    maxBytes,
    maxAgeMs: historyMs,
  });
  const watch = (signal: AbortSignal): AsyncGenerator<Uint8Array> => timelineMessages(watched, signal);
  return { files: timelineFiles, routes: timelineRoutes(watched), watch, close: watched.stop };
}
