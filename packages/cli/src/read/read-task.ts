import { type ChannelzConnection, ChannelzError } from "@wirescope/channelz";
import type { Io } from "../io.js";
import { createProgressLine } from "../output/progress-line.js";
import type { Screen } from "../output/screen.js";

/** What a command that reads a peer works with. */
export interface ReadTask<V = JsonValue> {
  readonly source: ChannelzConnection;
  readonly screen: Screen;
  /** The values of its options. */
  readonly values: V;
  readonly positionals: readonly string[];
  /** Aborts when the user interrupts the command: what was read until then is printed. */
  readonly signal: AbortSignal;
}

interface JsonValue {
  readonly json: boolean;
}

/** The values of a command that lists objects. */
export interface ListValues extends JsonValue {
  readonly limit: string | undefined;
}

/** What was read, and why reading stopped early if it did. */
interface Partial<T> {
  readonly items: readonly T[];
  readonly stoppedBy?: ChannelzError | undefined;
}

/** Reads until the end, or until reading fails. Rejects only if nothing was read before it failed. */
export async function readUntilStopped<T>(walk: AsyncIterable<T>): Promise<Partial<T>> {
  const items: T[] = [];
  try {
    for await (const item of walk) items.push(item);
  } catch (error) {
    if (items.length === 0 || !ChannelzError.is(error)) throw error;
    return { items, stoppedBy: error };
  }
  return { items };
}

/** Throws if reading stopped early: to be called when everything that was read has been printed. */
export function assertComplete(stoppedBy: ChannelzError | undefined): void {
  if (stoppedBy === undefined) return;
  throw new ChannelzError(stoppedBy.code, `The output is partial. ${stoppedBy.message}`, { cause: stoppedBy });
}

/** A connection whose reads are counted while a command runs. */
interface WatchedReads {
  readonly source: ChannelzConnection;
  /** Removes the progress line. */
  end(): void;
}

/** Shows progress on standard error while reading takes longer than a person expects. */
export function watchReads(
  connection: ChannelzConnection,
  io: Io,
  // A person at a terminal wonders sooner, and a line that is overwritten does not fill a log.
  intervalMs: number = io.stderr.isTTY ? 2000 : 10_000,
): WatchedReads {
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
    source: {
      ...connection,
      getTopChannels: counted(connection.getTopChannels),
      getServers: counted(connection.getServers),
      getServer: counted(connection.getServer),
      getServerSockets: counted(connection.getServerSockets),
      getChannel: counted(connection.getChannel),
      getSubchannel: counted(connection.getSubchannel),
      getSocket: counted(connection.getSocket),
    },
    end() {
      clearInterval(timer);
      line.end();
    },
  };
}
