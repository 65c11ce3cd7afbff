import type { ChannelzConnection } from "@wirescope/channelz";
import type { Io } from "../io.js";
import { createProgressLine } from "../output/progress-line.js";

/** A connection whose reads are counted while a command runs. */
export interface WatchedReads {
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
