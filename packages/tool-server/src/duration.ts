/** Formats a duration exactly: `90 s`, `250 ms`. */
export function describeDuration(ms: number): string {
  return ms < 1000 || ms % 100 !== 0 ? `${Math.round(ms)} ms` : `${ms / 1000} s`;
}

/** Formats a time as ISO 8601, to the second; another string is returned unchanged. */
export function isoTime(time: string | number): string {
  const ms = typeof time === "number" ? time : Date.parse(time);
  return Number.isNaN(ms) ? String(time) : new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Formats a duration, rounded to one unit. */
export function roundedDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
