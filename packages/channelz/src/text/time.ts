import type { Timestamp } from "@bufbuild/protobuf/wkt";

const units: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** The time of a timestamp, or undefined if it is missing, the epoch or earlier (as some peers write "never"), or invalid. */
export function timeOf(timestamp: Timestamp | undefined): Date | undefined {
  if (timestamp === undefined || timestamp.seconds <= 0n) return undefined;
  const date = new Date(Number(timestamp.seconds) * 1000 + Math.floor(timestamp.nanos / 1_000_000));
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** A time span in its largest unit, such as `3 s` or `2 d`. */
export function formatSpan(ms: number): string {
  const span = Math.abs(ms);
  const [size, name] = units.find(([unit]) => span >= unit) ?? [1, "ms"];
  return `${Math.floor(span / size)} ${name}`;
}

/** A time relative to now, such as `3 s ago` or `in 2 d`; `never` if it is undefined. */
export function formatRelative(time: Date | undefined, now: Date): string {
  if (time === undefined) return "never";
  const ms = now.getTime() - time.getTime();
  // The peer's clock may be slightly ahead of ours.
  if (Math.abs(ms) < 1000) return "just now";
  return ms > 0 ? `${formatSpan(ms)} ago` : `in ${formatSpan(ms)}`;
}

/** A time both ways: `3 s ago (2026-01-31T12:00:00.000Z)`. */
export function formatTime(time: Date | undefined, now: Date): string {
  return time === undefined ? "never" : `${formatRelative(time, now)} (${time.toISOString()})`;
}
