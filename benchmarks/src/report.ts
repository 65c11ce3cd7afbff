export interface Row {
  readonly work: string;
  readonly ours: string;
  readonly theirs: string;
  /** Absent if there is nothing to compare with. */
  readonly ratio?: number;
  /** The goal for the ratio, or for the figure, as text; empty if there is no goal. */
  readonly goal: string;
  readonly isMet?: boolean;
}

/** Says on standard error what is measured now, and since when the process runs. */
export function printProgress(text: string): void {
  console.error(`[${Math.round(performance.now() / 1000)} s] ${text}`);
}

/** A row for costs, where less is better. */
export function costRow(work: string, unit: string, ours: number, theirs: number, ratio: number, most?: number): Row {
  return {
    work,
    ours: `${figure(ours)} ${unit}`,
    theirs: `${figure(theirs)} ${unit}`,
    ratio,
    goal: most === undefined ? "" : `at most ${most.toFixed(3)}`,
    ...(most !== undefined && { isMet: ratio <= most }),
  };
}

/** A row for throughput, where more is better. */
export function rateRow(work: string, unit: string, ours: number, theirs: number, least?: number): Row {
  const ratio = ours / theirs;
  return {
    work,
    ours: `${figure(ours)} ${unit}`,
    theirs: `${figure(theirs)} ${unit}`,
    ratio,
    goal: least === undefined ? "" : `at least ${least.toFixed(3)}`,
    ...(least !== undefined && { isMet: ratio >= least }),
  };
}

export function printSection(title: string, rows: readonly Row[], sides: readonly [string, string]): void {
  console.log(`\n${title}`);
  const cells = [
    ["", ...sides, "ratio", "goal"],
    ...rows.map((row) => [
      row.work,
      row.ours,
      row.theirs,
      row.ratio?.toFixed(3) ?? "",
      row.goal === "" ? "" : `${row.goal}${row.isMet ? "" : "  MISSED"}`,
    ]),
  ];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...cells.map((row) => row[column]!.length)));
  for (const row of cells) {
    const text = row.map((cell, column) =>
      column === 0 || column === 4 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
    );
    console.log(`  ${text.join("  ").trimEnd()}`);
  }
}

export function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
}
