/** The counters of an object at two moments; the first reading may be missing. */
export interface CounterReadings<K extends string> {
  readonly name: string;
  readonly first: Readonly<Record<K, bigint>> | undefined;
  readonly second: Readonly<Record<K, bigint>>;
}

/** How a counter breaks the rule that it starts at zero and only grows. */
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
 * How counters break the rule that what ended was started. A peer may read its counters one after the other, so what had ended
 * at the first reading is compared with what had started at the second.
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
