import { printableText } from "@wirescope/channelz/internal";
import { listenChannelz } from "@wirescope/channelz/listener";
import { type Snapshot, snapshotSource } from "@wirescope/channelz/timeline";
import { exitCode } from "../failure.js";
import type { Io } from "../io.js";
import { parsePort } from "../option-values.js";
import { formatJsonLine } from "../output/json.js";
import { createScreen } from "../output/screen.js";
import { noteDamage, openMoment, parseMoment } from "../recorded-target.js";
import { UsageError } from "../usage-error.js";

/** The options of a replay, as written. */
export interface ReplayOptions {
  readonly at: string | undefined;
  readonly speed: string | undefined;
  readonly port: string | undefined;
  readonly json: boolean;
  readonly "no-color": boolean;
}

/** Serves a recording as Channelz on this machine until the signal aborts. Returns the exit code. */
export async function replay(file: string, options: ReplayOptions, io: Io, signal: AbortSignal): Promise<number> {
  const moment = openMoment(file);
  const { recording, path } = moment;
  try {
    const range = recording.range() ?? { firstMs: 0, lastMs: 0 };
    const speed = parseSpeed(options.speed);
    const isWritten = options.at !== undefined || moment.isChosen;
    const chosen = options.at === undefined ? moment.timeMs : parseMoment(options.at, range);
    const startMs = speed === undefined || isWritten ? chosen : range.firstMs;
    const begin = performance.now();
    const current = (): Snapshot | undefined =>
      recording.at(
        speed === undefined ? startMs : Math.min(startMs + (performance.now() - begin) * speed, range.lastMs),
      );
    await using listener = await listenChannelz(snapshotSource(current), {
      port: options.port === undefined ? 0 : parsePort(options.port, "--port"),
    });
    const screen = createScreen(io, options["no-color"]);
    const facts = {
      target: listener.address,
      atMs: startMs,
      speed: speed ?? 0,
      ...range,
      damagedBytes: recording.damagedBytes,
    };
    if (options.json) screen.print(formatJsonLine(facts));
    else {
      const time = new Date(startMs).toISOString();
      const how = speed === undefined ? `as of ${time}` : `from ${time} at ${speed} times its speed`;
      screen.print(`Serving ${printableText(path)} ${how} as Channelz on ${listener.address}. Ctrl-C ends it.`);
      screen.print(`Read it with: wirescope tree --target ${listener.address}`);
      noteDamage(moment, (note) => io.stderr.write(`wirescope: ${note}\n`));
    }
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await listener.close({ deadlineMs: 0 });
    return exitCode.ok;
  } finally {
    recording.close();
  }
}

function parseSpeed(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const speed = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (speed > 0 && speed <= 1_000_000) return speed;
  throw new UsageError(`--speed "${text}" is not valid. Use a positive number, such as 1 or 10.`);
}
