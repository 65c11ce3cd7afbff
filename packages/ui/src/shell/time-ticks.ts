import type { TimelineChange, TimelineRange } from "@wirescope/channelz/timeline";

const columns = 500;
/** The width of the drawing. */
const width = 1000;

export interface TickPaths {
  /** Objects that appeared or closed. */
  readonly minor: string;
  /** States that changed. */
  readonly major: string;
  /** Something started to fail. */
  readonly failing: string;
}

type Weight = keyof TickPaths;
const weights: readonly Weight[] = ["minor", "major", "failing"];
const lines: Readonly<Record<Weight, string>> = { minor: "6V10", major: "2V10", failing: "0V10" };

/** The changes in a range as vertical lines, at most one for each column of the drawing: for its most severe change. */
export function tickPath(changes: readonly TimelineChange[], { firstMs, lastMs }: TimelineRange): TickPaths {
  const length = Math.max(1, lastMs - firstMs);
  const byColumn = new Map<number, number>();
  for (const change of changes) {
    const weight = weightOf(change);
    if (change.timeMs < firstMs || change.timeMs > lastMs || weight === undefined) continue;
    const column = Math.round(((change.timeMs - firstMs) / length) * columns);
    byColumn.set(column, Math.max(byColumn.get(column) ?? 0, weights.indexOf(weight)));
  }
  const paths = { minor: "", major: "", failing: "" };
  for (const [column, index] of byColumn) {
    const weight = weights[index] ?? "minor";
    paths[weight] += `M${(column * width) / columns} ${lines[weight]}`;
  }
  return paths;
}

/** Undefined for a trace event that changes nothing. */
function weightOf({ kind, text }: TimelineChange): Weight | undefined {
  switch (kind) {
    case "appeared":
    case "disappeared":
      return "minor";
    case "state":
      return text.endsWith("TRANSIENT_FAILURE") ? "failing" : "major";
    case "origin":
      return "failing";
    case "restarted":
      return "major";
    // A failure that ends before the next sample is only in the trace.
    case "trace":
      return text.includes("-> TRANSIENT_FAILURE") ? "failing" : undefined;
  }
}

/** The changes within a few columns of a time, the most severe first. */
export function changesNear(
  changes: readonly TimelineChange[],
  { firstMs, lastMs }: TimelineRange,
  timeMs: number,
): readonly TimelineChange[] {
  const reach = Math.max(500, (lastMs - firstMs) * 0.008);
  const rank = (change: TimelineChange): number => weights.indexOf(weightOf(change) ?? "minor");
  return changes
    .filter((change) => Math.abs(change.timeMs - timeMs) <= reach && weightOf(change) !== undefined)
    .sort((a, b) => rank(b) - rank(a));
}

/** The moment of the previous or next change; undefined if there is none. */
export function neighbourChange(changes: readonly TimelineChange[], timeMs: number, step: -1 | 1): number | undefined {
  const ticks = changes.filter((change) => (weightOf(change) ?? "minor") !== "minor");
  // Moments are rounded to seconds by the slider, so a change within the same second counts as reached.
  const found =
    step < 0 ? ticks.findLast((each) => each.timeMs < timeMs - 1) : ticks.find((each) => each.timeMs > timeMs + 1);
  return found?.timeMs;
}
