import { printableText } from "@wirescope/channelz/internal";
import type { Paint, Screen } from "./screen.js";
import { displayWidth, truncateToWidth } from "./text-layout.js";

/** A column of a table over rows of type `T`. */
export interface Column<T> {
  readonly title: string;
  /** The text of the cell; text of a peer needs no escaping. */
  readonly text: (row: T) => string;
  readonly align?: "left" | "right";
  /** The narrowest that it may be cut to, default 8; columns at the right are left out before that. Numbers are never cut. */
  readonly minWidth?: number;
  readonly paint?: (row: T) => Paint;
}

const gap = "  ";

/**
 * The lines of a table: a heading and one line a row. In a `width`, columns of text are cut with `…`, the rightmost first, and
 * what has no room at all is left out, which a `…` ends the heading for. Without one, every cell is shown in full. Text of a peer
 * is escaped.
 */
export function renderTable<T>(columns: readonly Column<T>[], rows: readonly T[], width?: number): string[] {
  const cells = rows.map((row) => columns.map((column) => printableText(column.text(row))));
  const natural = columns.map((column, index) =>
    cells.reduce((most, line) => Math.max(most, displayWidth(line[index] ?? "")), displayWidth(column.title)),
  );
  const widths = width === undefined ? natural : fit(columns, natural, width);
  const shown = columns.slice(0, widths.length);

  const line = (texts: readonly string[], paintOf: (column: Column<T>) => Paint | undefined): string =>
    shown
      .map((column, index) => {
        const room = widths[index] ?? 0;
        const text = truncateToWidth(texts[index] ?? "", room);
        const padding = " ".repeat(Math.max(0, room - displayWidth(text)));
        const painted = paintOf(column)?.(text) ?? text;
        return column.align === "right" ? padding + painted : painted + padding;
      })
      .join(gap)
      .trimEnd();
  const heading = line(
    columns.map(({ title }) => title),
    () => undefined,
  );
  return [
    shown.length < columns.length ? `${heading}${gap}…` : heading,
    ...rows.map((row, r) => line(cells[r] ?? [], (column) => column.paint?.(row))),
  ];
}

/** The widths of as many columns, from the left, as fit. */
function fit<T>(columns: readonly Column<T>[], natural: readonly number[], width: number): number[] {
  for (let count = columns.length; count > 1; count -= 1) {
    const widths = natural.slice(0, count);
    const mark = count < columns.length ? gap.length + 1 : 0;
    let excess = widths.reduce((sum, each) => sum + each, 0) + gap.length * (count - 1) + mark - width;
    for (let index = count - 1; index >= 0 && excess > 0; index -= 1) {
      const room = widths[index] ?? 0;
      const least = columns[index]?.align === "right" ? room : (columns[index]?.minWidth ?? 8);
      const cut = Math.min(excess, Math.max(0, room - least));
      widths[index] = room - cut;
      excess -= cut;
    }
    if (excess <= 0) return widths;
  }
  return [Math.max(1, Math.min(natural[0] ?? 0, width))];
}

/** A name, a value that may hold text of a peer, and the colour of the value. */
export type Field = readonly [name: string, value: string, paint?: Paint];

/** Lines of names and values, aligned. Values are shown in full, and escaped. */
export function renderFields(fields: readonly Field[], screen: Screen, indent = "  "): string[] {
  const width = Math.max(0, ...fields.map(([name]) => name.length));
  return fields.map(([name, value, paint]) => {
    const text = printableText(value);
    return `${indent}${screen.palette.faint(name.padEnd(width))}  ${paint?.(text) ?? text}`;
  });
}
