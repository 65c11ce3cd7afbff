/** A text as a cell of a table of Markdown: it neither ends the cell nor is taken for more than a text. */
export function cellOf(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ").replace(/[\\|`]/g, "\\$&");
}

/** A text as code in such a cell. */
export function codeCellOf(text: string): string {
  return `\`${cellOf(text.replaceAll("`", "'"))}\``;
}

/** A table of Markdown, whose columns are as wide as what stands in them. */
export function markdownTable(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = heading.map((_, column) => Math.max(3, ...[heading, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(heading), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)];
}
