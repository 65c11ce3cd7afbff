const units: readonly (readonly [name: string, ms: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
];

/** A duration in its largest unit: "41 ms", "3 min". */
export function duration(ms: number): string {
  const length = Math.abs(ms);
  if (length < 1) return length === 0 ? "0 ms" : `${length.toFixed(2)} ms`;
  if (length < 1000) return `${length < 10 ? length.toFixed(1).replace(/\.0$/, "") : Math.round(length)} ms`;
  if (length < 10_000) return `${(length / 1000).toFixed(1).replace(/\.0$/, "")} s`;
  const [name, unit] = units.find(([, each]) => length >= each) ?? ["s", 1000];
  return `${Math.floor(length / unit)} ${name}`;
}

/** "now", "12 s ago", "in 4 min". */
export function relativeTime(ms: number, nowMs: number): string {
  const length = wholeSeconds(nowMs - ms);
  if (length === undefined) return "now";
  return nowMs > ms ? `${length} ago` : `in ${length}`;
}

/** "at this moment", "12 s earlier", "4 min later". */
export function relativeToMoment(ms: number, momentMs: number): string {
  const length = wholeSeconds(momentMs - ms);
  if (length === undefined) return "at this moment";
  return `${length} ${momentMs > ms ? "earlier" : "later"}`;
}

/** Undefined for less than a second. */
function wholeSeconds(ms: number): string | undefined {
  const seconds = Math.floor(Math.abs(ms) / 1000);
  return seconds === 0 ? undefined : duration(seconds * 1000);
}
