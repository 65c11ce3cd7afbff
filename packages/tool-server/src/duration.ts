/** A time for people: `90 s`, `250 ms`. */
export function describeDuration(ms: number): string {
  return ms < 1000 || ms % 100 !== 0 ? `${Math.round(ms)} ms` : `${ms / 1000} s`;
}
