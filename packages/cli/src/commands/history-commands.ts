import { connectionOptions } from "../connection-options.js";
import { commonOptions } from "../options.js";
import { type Command, defineCommand } from "./command.js";
import { maxObjectsOption } from "./define-read-command.js";

const json = { type: "boolean", help: "print JSON instead of text" } as const;

/** Records the Channelz data of processes into a file. */
export const recordCommand: Command = defineCommand(
  {
    name: "record",
    summary: "record the Channelz data of a process, or of several, into a file",
    parameters: ["<file>"],
    options: {
      interval: { type: "string", placeholder: "duration", help: "time between two samples; default: 1s" },
      for: { type: "string", placeholder: "duration", help: "end after this time, such as 30m or 8h" },
      "max-size": { type: "string", placeholder: "size", help: "end at this size, such as 200MB; default: 1GB" },
      append: { type: "boolean", help: "continue a recording that exists" },
      redact: { type: "boolean", help: "leave out addresses and certificates" },
      ...maxObjectsOption,
      ...connectionOptions,
      json,
      ...commonOptions,
    },
    notes: [
      "A recording contains names, targets and traces of the process. Only you can read the file.",
      "If the recorder is killed, up to two seconds are lost; the file stays readable.",
      "Exit code 1: the target never responded.",
    ],
  },
  async ({ values, positionals: [file = ""], io }) => {
    const { connectByOptions } = await import("../connect-by-options.js");
    const { record } = await import("../history/record.js");
    await using connections = await connectByOptions(values, io);
    return await untilSignal((signal) => record(file, connections, values, io, signal));
  },
);

/** Serves a recording as Channelz. */
export const replayCommand: Command = defineCommand(
  {
    name: "replay",
    summary: "serve a recording as Channelz, at a moment or as it happened",
    parameters: ["<file[@time]>"],
    options: {
      at: {
        type: "string",
        placeholder: "time",
        help: "the moment to serve: -10m before the end, +5m after the start, 14:05:30, or a date; default: the end",
      },
      speed: {
        type: "string",
        placeholder: "n",
        help: "play from the start, or from --at, this many times as fast as it happened",
      },
      port: { type: "string", placeholder: "port", help: "port on 127.0.0.1; default: any" },
      json,
      ...commonOptions,
    },
    notes: ["Commands can also read a recording directly: wirescope tree --target file:outage.wsr@-10m"],
  },
  async ({ values, positionals: [file = ""], io }) => {
    const { replay } = await import("../history/replay.js");
    return await untilSignal((signal) => replay(file, values, io, signal));
  },
);

/** Compares two moments. */
export const diffCommand: Command = defineCommand(
  {
    name: "diff",
    summary: "compare two recordings, two moments of one, or two processes",
    parameters: ["<a>", "<b>"],
    options: {
      window: {
        type: "string",
        placeholder: "duration",
        help: "time over which rates are measured; default: 10s in recordings, 1s in processes",
      },
      ...maxObjectsOption,
      ...connectionOptions,
      json,
      ...commonOptions,
    },
    notes: [
      "Each side is a recording, such as outage.wsr or outage.wsr@-10m, or a target.",
      "Exit code 1: objects appeared, disappeared or changed state. Exit code 3: a side could not be read.",
    ],
  },
  async ({ values, positionals: [first = "", second = ""], io }) => {
    const { diff } = await import("../history/diff.js");
    return await untilSignal((signal) => diff(first, second, values, io, signal));
  },
);

async function untilSignal(run: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  try {
    return await run(stop.signal);
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}
