import { ChannelzError, type Gathered, gatherOrigins, type OriginSource, type Source } from "@wirescope/channelz";
import { noneResponds } from "@wirescope/channelz/client";
import type { Snapshot } from "@wirescope/channelz/timeline";
import type { Io } from "../io.js";
import { parseCount } from "../option-values.js";
import { createProgressLine } from "../output/progress-line.js";
import type { Screen } from "../output/screen.js";

/** The context of a command that reads processes. */
export interface ReadTask<V = JsonValue> {
  /** Each process. The origin is empty if there is only one. */
  readonly targets: readonly OriginSource[];
  readonly screen: Screen;
  /** The values of its options. */
  readonly values: V;
  readonly positionals: readonly string[];
  /** Aborts when the user interrupts the command; what was read by then is printed. */
  readonly signal: AbortSignal;
}

interface JsonValue {
  readonly json: boolean;
}

/** What was read, and why reading stopped if it stopped early. */
export interface PartialItems<T> {
  readonly items: readonly T[];
  readonly stoppedBy?: ChannelzError | undefined;
}

/** Reads until the end, or until reading fails. Rejects only if nothing was read before it failed. */
export async function readUntilStopped<T>(walk: AsyncIterable<T>): Promise<PartialItems<T>> {
  const items: T[] = [];
  try {
    for await (const item of walk) items.push(item);
  } catch (error) {
    if (items.length === 0 || !ChannelzError.is(error)) throw error;
    return { items, stoppedBy: error };
  }
  return { items };
}

/** The value of `--max-objects`. */
export function parseMaxObjects(values: { readonly "max-objects": string | undefined }): number | undefined {
  return parseCount(values["max-objects"], "--max-objects");
}

/**
 * Reads all targets in parallel. Rejects if the only target does not respond, or none does. Otherwise targets that do not respond have an
 * error in the result.
 */
export async function readTargets<T>(
  { targets, signal }: Pick<ReadTask, "targets" | "signal">,
  read: (source: Source, signal: AbortSignal, target: OriginSource) => Promise<T>,
): Promise<Gathered<T>[]> {
  const [only] = targets;
  if (only !== undefined && targets.length === 1) {
    return [{ origin: only, value: await read(only.source, signal, only) }];
  }
  const gathered = await gatherOrigins(targets, read, { signal });
  const errors = gathered.flatMap(({ error }) => error ?? []);
  const [first] = errors;
  if (first !== undefined && errors.length === gathered.length) throw noneResponds(targets, first);
  return gathered;
}

/** Throws if reading stopped early. Call it after printing what was read. */
export function assertComplete(stoppedBy: ChannelzError | undefined): void {
  if (stoppedBy === undefined) return;
  throw new ChannelzError(stoppedBy.code, `The output is partial. ${stoppedBy.message}`, { cause: stoppedBy });
}

/** Throws if a target did not respond. Call it after printing what was read. */
export function assertAllRespond(gathered: readonly Gathered<unknown>[]): void {
  const failed = gathered.flatMap(({ error }) => error ?? []);
  const [first] = failed;
  if (first === undefined) return;
  throw new ChannelzError(
    first.code,
    failed.length === 1
      ? `1 of ${gathered.length} targets did not respond. ${first.message}`
      : `${failed.length} of ${gathered.length} targets did not respond. The first: ${first.message}`,
    { cause: first },
  );
}

/** Throws if a target did not respond or reading stopped early. Call it after printing what was read. */
export function assertSnapshotComplete({ origins, stoppedBy }: Snapshot): void {
  const failed = origins.filter(({ error }) => error !== undefined && error !== stoppedBy);
  if (stoppedBy !== undefined) throw partialRead(stoppedBy, origins);
  if (failed.length === 0) return;
  const first = failed[0]?.error ?? "";
  throw new ChannelzError(
    "PEER_UNAVAILABLE",
    failed.length === 1
      ? `1 of ${origins.length} targets did not respond. ${first}`
      : `${failed.length} of ${origins.length} targets did not respond. The first: ${first}`,
  );
}

/** The error of a read that stopped early. LIMIT_REACHED, which advises a higher limit, only if no target failed. */
export function partialRead(stoppedBy: string, origins: Snapshot["origins"]): ChannelzError {
  const isSilent = origins.some(({ error }) => error === stoppedBy);
  return new ChannelzError(isSilent ? "PEER_UNAVAILABLE" : "LIMIT_REACHED", `The output is partial. ${stoppedBy}`);
}

/** Counts reads while a command runs. */
interface ReadProgress {
  /** The source, with its reads counted. */
  track(source: Source): Source;
  /** Removes the progress line. */
  end(): void;
}

/** Shows progress on standard error while reading takes longer than a person expects. */
export function createReadProgress(
  io: Io,
  // Shorter at a terminal, where the line is overwritten and does not fill a log.
  intervalMs: number = io.stderr.isTTY ? 2000 : 10_000,
): ReadProgress {
  const line = createProgressLine(io);
  let count = 0;
  const timer = setInterval(() => {
    line.show({ progress: count, message: "responses read so far; Ctrl-C prints what was read" });
  }, intervalMs);
  timer.unref();
  const counted =
    <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const response = await read(...args);
      count += 1;
      return response;
    };
  return {
    track: (source) => ({
      getTopChannels: counted(source.getTopChannels),
      getServers: counted(source.getServers),
      getServer: counted(source.getServer),
      getServerSockets: counted(source.getServerSockets),
      getChannel: counted(source.getChannel),
      getSubchannel: counted(source.getSubchannel),
      getSocket: counted(source.getSocket),
    }),
    end() {
      clearInterval(timer);
      line.end();
    },
  };
}
