import { describe, expect, test } from "vitest";
import { displayWidth, twoColumns, wrap, wrapHard } from "./text-layout.js";

test("breaks lines at spaces to fit the width", () => {
  expect(wrap("one two three four", 11, "  ")).toEqual(["  one two", "  three", "  four"]);
});

test("keeps a word that is wider than the width on its own line", () => {
  expect(wrap("a https://example.com/long b", 10, "")).toEqual(["a", "https://example.com/long", "b"]);
});

test("returns one line without a width", () => {
  expect(wrap("one two", undefined, "> ")).toEqual(["> one two"]);
});

test("breaks words that are wider than the width, also wide characters", () => {
  expect(wrapHard(`see ${"x".repeat(50)} end`, 20)).toEqual([
    "see",
    "x".repeat(20),
    "x".repeat(20),
    `${"x".repeat(10)} end`,
  ]);
  for (const line of wrapHard("日本語".repeat(20), 21)) expect(displayWidth(line)).toBeLessThanOrEqual(21);
  expect(wrapHard("one two three four five", 5)).toEqual(["one two three four five"]);
});

const rows = [
  ["--port <number>", "port to listen on; 0 selects a free one; default: 4690"],
  ["--demo", "run the demonstration"],
] as const;

describe("twoColumns", () => {
  test("prints terms and meanings side by side without a width", () => {
    expect(twoColumns(rows)).toEqual([
      "  --port <number>  port to listen on; 0 selects a free one; default: 4690",
      "  --demo           run the demonstration",
    ]);
  });

  test("wraps meanings at the width", () => {
    expect(twoColumns(rows, 50)).toEqual([
      "  --port <number>  port to listen on; 0 selects a",
      "                   free one; default: 4690",
      "  --demo           run the demonstration",
    ]);
  });

  test("prints meanings below their terms in a narrow terminal", () => {
    expect(twoColumns(rows, 30)).toEqual([
      "  --port <number>",
      "      port to listen on; 0",
      "      selects a free one;",
      "      default: 4690",
      "  --demo",
      "      run the demonstration",
    ]);
  });
});
