import { describe, expect, test } from "vitest";
import { type Column, renderTable } from "./table.js";
import { displayWidth } from "./text-layout.js";

interface Row {
  id: number;
  target: string;
  name: string;
}

const columns: Column<Row>[] = [
  { title: "ID", align: "right", text: ({ id }) => String(id) },
  { title: "TARGET", text: ({ target }) => target },
  { title: "NAME", text: ({ name }) => name },
];
const rows: Row[] = [
  { id: 7, target: "dns:///a-rather-long-name.example:443", name: "first" },
  { id: 12345, target: "b:1", name: "the second of the two" },
];

describe("renderTable", () => {
  test("aligns columns, numbers to the right, with nothing after the last", () => {
    expect(renderTable(columns, rows)).toEqual([
      "   ID  TARGET                                 NAME",
      "    7  dns:///a-rather-long-name.example:443  first",
      "12345  b:1                                    the second of the two",
    ]);
  });

  test("shows every cell in full without a width", () => {
    expect(renderTable(columns, [{ ...rows[0], target: "x".repeat(500) } as Row])[1]).toContain("x".repeat(500));
  });

  test("truncates the rightmost column first", () => {
    expect(renderTable(columns, rows, 60)).toEqual([
      "   ID  TARGET                                 NAME",
      "    7  dns:///a-rather-long-name.example:443  first",
      "12345  b:1                                    the second of…",
    ]);
    expect(renderTable(columns, rows, 40)).toEqual([
      "   ID  TARGET                   NAME",
      "    7  dns:///a-rather-long-n…  first",
      "12345  b:1                      the sec…",
    ]);
  });

  test("[CZ-D-CLI-7] omits the least important columns first", () => {
    const ranked = columns.map((column, index) => ({ ...column, importance: [3, 1, 2][index] ?? 1 }));
    expect(renderTable(ranked, rows, 20)).toEqual(["   ID  NAME  …", "    7  first", "12345  the secon…"]);
  });

  test("omits columns that do not fit, and marks it in the heading", () => {
    expect(renderTable(columns, rows, 20)).toEqual(["   ID  TARGET  …", "    7  dns:///a-…", "12345  b:1"]);
  });

  test.each([1, 5, 10, 20, 33, 47, 80, 200])("makes no line wider than the terminal of %i columns", (width) => {
    const wide = [{ id: 1, target: "日本語のとても長い名前.example", name: "🙂".repeat(30) }, ...rows];
    for (const line of renderTable(columns, wide, width))
      expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(width, 8));
  });

  test("counts wide characters as two columns", () => {
    const lines = renderTable(columns, [
      { id: 1, target: "日本", name: "x" },
      { id: 2, target: "abcd", name: "y" },
    ]);
    expect(lines.slice(1).map((line) => displayWidth(line.slice(0, line.search(/[xy]$/))))).toEqual([12, 12]);
  });

  test("escapes text of a peer that could control the terminal", () => {
    const [, line] = renderTable(columns, [{ id: 1, target: "\u001b[2J\u0007", name: "a\nb\u202e" }]);
    expect(line).toBe(" 1  \\x1b[2J\\x07  a\\nb\\u202e");
  });

  test("does not count colours as width", () => {
    const painted: Column<Row>[] = columns.map((column) => ({ ...column, paint: () => (text) => `<${text}>` }));
    expect(renderTable(painted, [{ id: 1, target: "t", name: "n" }])[1]).toBe(" <1>  <t>       <n>");
  });
});
