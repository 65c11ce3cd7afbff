/** Values of a counter, oldest first. */
export interface CounterPoint {
  readonly timeMs: number;
  readonly value: number;
}

/** Columns for the chart: seconds since 1970, then counts per second of each series, or null without a value. */
export type ChartColumns = [seconds: number[], ...rates: (number | null)[][]];

/** The maximum number of points in a chart. */
const maxMoments = 600;

/** Adds the value of a live snapshot to the history. A moment that the history already has is ignored. */
export function addPoint(points: readonly CounterPoint[], point: CounterPoint): readonly CounterPoint[] {
  const last = points.at(-1);
  return last !== undefined && last.timeMs >= point.timeMs ? points : [...points.slice(1 - maxMoments), point];
}

/** Turns counters into counts per second. After a restart a counter begins at 0. */
export function rateColumns(series: readonly (readonly CounterPoint[])[]): ChartColumns {
  const times = [...new Set(series.flatMap((points) => points.map(({ timeMs }) => timeMs)))].sort((a, b) => a - b);
  const columns = series.map((points) => {
    const rates = new Map<number, number>();
    for (const [index, { timeMs, value }] of points.entries()) {
      const before = points[index - 1];
      if (before === undefined || timeMs <= before.timeMs) continue;
      const difference = value >= before.value ? value - before.value : value;
      rates.set(timeMs, (difference * 1000) / (timeMs - before.timeMs));
    }
    return times.slice(1).map((timeMs) => rates.get(timeMs) ?? null);
  });
  return [times.slice(1).map((timeMs) => timeMs / 1000), ...columns];
}
