import { printableText } from "@wirescope/channelz/internal";
import type { Paint, Screen } from "./screen.js";
import { displayWidth, truncateToWidth, wrapHard } from "./text-layout.js";

/** A column of a table over rows of type `T`. */
export interface Column<T> {
  readonly title: string;
  /** The text of the cell. It need not be escaped. */
  readonly text: (row: T) => string;
  readonly align?: "left" | "right";
  /** The minimum width it may be truncated to; default 8. Columns are left out before that. Numbers are never truncated. */
  readonly minWidth?: number;
  /** The minimum width before a column with importance 6 or more is left out. Default: `minWidth`. */
  readonly tightWidth?: number;
  /** In a narrow terminal, columns with a lower number are left out first, and of equal ones the rightmost. Default 1. */
  readonly importance?: number;
  readonly paint?: (row: T) => Paint;
}

const gap = "  ";

/** A peer may send megabytes as a name. `--json` prints them in full. */
const maxCellLength = 10_000;

/**
 * The lines of a table: a heading and one line per row. With a `width`, text columns are truncated with `…`, the rightmost first. Columns
 * that do not fit are left out, the least important first; then the heading ends with `…`. Without a width, every cell is shown in
 * full. Text from a peer is escaped.
 */
export function renderTable<T>(columns: readonly Column<T>[], rows: readonly T[], width?: number): string[] {
  const cells = rows.map((row) => columns.map((column) => printableText(column.text(row), maxCellLength)));
  const sized = columns.map((column, index): SizedColumn<T> => {
    const texts = cells.map((line) => line[index] ?? "");
    const width = texts.reduce((max, text) => Math.max(max, displayWidth(text)), displayWidth(column.title));
    return { column, texts, width };
  });
  const shown = width === undefined ? sized : fit(sized, width);

  const line = (textOf: (each: SizedColumn<T>) => string, paintOf: (column: Column<T>) => Paint | undefined): string =>
    shown
      .map((each) => {
        const text = truncateToWidth(textOf(each), each.width);
        const padding = " ".repeat(Math.max(0, each.width - displayWidth(text)));
        const painted = paintOf(each.column)?.(text) ?? text;
        return each.column.align === "right" ? padding + painted : painted + padding;
      })
      .join(gap)
      .trimEnd();
  const heading = line(
    ({ column }) => column.title,
    () => undefined,
  );
  return [
    shown.length < columns.length ? `${heading}${gap}…` : heading,
    ...rows.map((row, r) =>
      line(
        ({ texts }) => texts[r] ?? "",
        (column) => column.paint?.(row),
      ),
    ),
  ];
}

interface SizedColumn<T> {
  readonly column: Column<T>;
  readonly texts: readonly string[];
  readonly width: number;
}

/** As many columns as fit, with their widths. */
function fit<T>(all: readonly SizedColumn<T>[], width: number): readonly SizedColumn<T>[] {
  const shown = [...all];
  for (; shown.length > 1; shown.splice(leastImportant(shown), 1)) {
    const mark = shown.length < all.length ? gap.length + 1 : 0;
    const room = width - gap.length * (shown.length - 1) - mark;
    const isEssential = importanceOf(shown[leastImportant(shown)]) >= essentialImportance;
    const fitted =
      cutTo(room, shown, ({ minWidth = 8 }) => minWidth) ??
      (isEssential ? cutTo(room, shown, ({ minWidth = 8, tightWidth = minWidth }) => tightWidth) : undefined);
    if (fitted !== undefined) return fitted;
  }
  return shown.map((each) => ({ ...each, width: Math.max(1, Math.min(each.width, width)) }));
}

/** Truncates columns, the rightmost first, until they fit; undefined if they do not. */
function cutTo<T>(
  room: number,
  columns: readonly SizedColumn<T>[],
  minOf: (column: Column<T>) => number,
): readonly SizedColumn<T>[] | undefined {
  let excess = columns.reduce((sum, each) => sum + each.width, 0) - room;
  const cut = columns.toReversed().map((each) => {
    const min = each.column.align === "right" ? each.width : minOf(each.column);
    const less = Math.max(0, Math.min(excess, each.width - min));
    excess -= less;
    return { ...each, width: each.width - less };
  });
  return excess > 0 ? undefined : cut.reverse();
}

/** Columns from this importance on are truncated further before they are left out. */
const essentialImportance = 6;

function importanceOf<T>(each: SizedColumn<T> | undefined): number {
  return each?.column.importance ?? 1;
}

function leastImportant<T>(columns: readonly SizedColumn<T>[]): number {
  let found = columns.length - 1;
  columns.forEach((each, index) => {
    const least = importanceOf(columns[found]);
    if (importanceOf(each) < least || (importanceOf(each) === least && index > found)) found = index;
  });
  return found;
}

/** A name, a value that may contain text from a peer, and the colour of the value. */
export type Field = readonly [name: string, value: string, paint?: Paint];

/** Lines of names and values, aligned. Values are shown in full, wrapped at the width of the terminal, and escaped. */
export function renderFields(fields: readonly Field[], screen: Screen, indent = "  "): string[] {
  const width = Math.max(0, ...fields.map(([name]) => name.length));
  const room = screen.width === undefined ? undefined : screen.width - indent.length - width - gap.length;
  return fields.flatMap(([name, value, paint]) =>
    wrapHard(printableText(value, maxCellLength), room).map((text, index) => {
      const label = screen.palette.faint((index === 0 ? name : "").padEnd(width));
      return `${indent}${label}${gap}${paint?.(text) ?? text}`;
    }),
  );
}
