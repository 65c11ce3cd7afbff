/** The counters of an object from two reads; the first may be missing. */
export interface CounterReadings<K extends string> {
  readonly name: string;
  readonly first: Readonly<Record<K, bigint>> | undefined;
  readonly second: Readonly<Record<K, bigint>>;
}

/** Violations of the rule that a counter starts at zero and only grows. */
export function checkCounter<K extends string>(
  { name, first, second }: CounterReadings<K>,
  field: K,
  title: string,
): string[] {
  if (second[field] < 0n) return [`${title} of ${name} is ${second[field]}`];
  if (first === undefined || second[field] >= first[field]) return [];
  return [`${title} of ${name} fell from ${first[field]} to ${second[field]}`];
}

/**
 * Violations of the rule that no more calls or streams ended than started. A peer may read its counters one after the other, so the
 * ended ones of the first read are compared with the started ones of the second.
 */
export function checkEnded<K extends string>(
  { name, first, second }: CounterReadings<K>,
  ended: readonly K[],
  started: K,
  what: string,
): string[] {
  const count = ended.reduce((sum, field) => sum + ((first ?? second)[field] ?? 0n), 0n);
  return count <= second[started] ? [] : [`${name} ended ${count} ${what} of ${second[started]} that it started`];
}
