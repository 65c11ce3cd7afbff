import type { ChannelzConnection } from "@wirescope/channelz";
import { printableText } from "@wirescope/channelz/internal/text";
import { snapshotSource } from "@wirescope/channelz/timeline";
import { openRecording, type Recording } from "@wirescope/channelz/timeline/node";
import { reasonOf } from "./file-failure.js";
import { parseDuration } from "./option-values.js";
import { UsageError } from "./usage-error.js";

/** The prefix of a target that is a recording. */
export const recordingPrefix = "file:";

/** A moment of an open recording. */
export interface RecordedMoment {
  readonly recording: Recording;
  readonly path: string;
  readonly timeMs: number;
  /** Whether the user chose the moment. */
  readonly isChosen: boolean;
}

/** Opens a recording, such as `outage.wsr` or `outage.wsr@-10m`, at a moment. Default: its end. Throws a UsageError. */
export function openMoment(text: string): RecordedMoment {
  const written = text.startsWith(recordingPrefix) ? text.slice(recordingPrefix.length) : text;
  const { path, time } = splitMoment(written);
  let recording: Recording;
  try {
    recording = openRecording(path);
  } catch (error) {
    throw new UsageError(`Cannot read the recording ${path}: ${reasonOf(error)}`);
  }
  const { firstMs, lastMs } = recording.range() ?? { firstMs: 0, lastMs: 0 };
  try {
    const timeMs = time === undefined ? lastMs : parseMoment(time, { firstMs, lastMs });
    return { recording, path, timeMs, isChosen: time !== undefined };
  } catch (error) {
    recording.close();
    throw error;
  }
}

/** Reports how much of a recording cannot be read, if any. */
export function noteDamage({ recording, path }: RecordedMoment, note: (message: string) => void): void {
  const { damagedBytes } = recording;
  if (damagedBytes === 0) return;
  note(`${damagedBytes} bytes of the recording ${printableText(path, 200)} are missing or damaged and were skipped.`);
}

/** Separates the path of a recording and a time after `@`. */
export function splitMoment(text: string): { readonly path: string; readonly time?: string } {
  const [, path = text, time] = /^(.+)@([-+\d][-+:.\dTZhms]*)$/.exec(text) ?? [];
  return time === undefined ? { path } : { path, time };
}

/**
 * A moment of a recording in milliseconds: `-10m` before its end, `+5m` after its start, `14:05:30` in local time on its last day that
 * has it, or a date. Throws a UsageError if the recording has no such moment.
 */
export function parseMoment(
  text: string,
  { firstMs, lastMs }: { readonly firstMs: number; readonly lastMs: number },
): number {
  const timeMs = momentOf(text.trim(), firstMs, lastMs);
  if (timeMs >= firstMs && timeMs <= lastMs) return timeMs;
  const [from, to] = [firstMs, lastMs].map((ms) => new Date(ms).toISOString());
  throw new UsageError(`The recording has no moment "${text}". It covers ${from} to ${to}.`);
}

function momentOf(text: string, firstMs: number, lastMs: number): number {
  if (text.startsWith("-")) return lastMs - parseDuration(text.slice(1), "The time");
  if (text.startsWith("+")) return firstMs + parseDuration(text.slice(1), "The time");
  const clock = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text);
  if (clock === null) {
    const timeMs = Date.parse(text);
    if (Number.isNaN(timeMs)) {
      throw new UsageError(`"${text}" is not a time. Use a value such as -10m, +5m, 14:05:30 or 2026-11-16T14:05:30Z.`);
    }
    return timeMs;
  }
  const time = new Date(lastMs);
  time.setHours(Number(clock[1]), Number(clock[2]), Number(clock[3] ?? 0), 999);
  // A time in the last second of the recording is its end.
  if (time.getTime() - 999 <= lastMs) return Math.min(time.getTime(), lastMs);
  time.setDate(time.getDate() - 1);
  return time.getTime();
}

/** Serves a moment of a recording like a connection to a process. */
export function connectRecording(target: string, note: (message: string) => void): ChannelzConnection {
  const moment = openMoment(target);
  const { recording, timeMs } = moment;
  noteDamage(moment, note);
  const source = snapshotSource(recording.at(timeMs) ?? (() => undefined));
  recording.close();
  const close = async (): Promise<void> => {};
  return {
    ...source,
    target,
    findPackage: async () => "rpc.channelz.v1",
    ownConnection: () => undefined,
    close,
    [Symbol.asyncDispose]: close,
  };
}
