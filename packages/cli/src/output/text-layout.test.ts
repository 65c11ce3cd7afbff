import { describe, expect, test } from "vitest";
import { twoColumns, wrap } from "./text-layout.js";

test("lines fit the width and break at spaces", () => {
  expect(wrap("one two three four", 11, "  ")).toEqual(["  one two", "  three", "  four"]);
});

test("a word that is wider than the width keeps a line of its own", () => {
  expect(wrap("a https://example.com/long b", 10, "")).toEqual(["a", "https://example.com/long", "b"]);
});

test("without a width there is one line", () => {
  expect(wrap("one two", undefined, "> ")).toEqual(["> one two"]);
});

const rows = [
  ["--port <number>", "port to listen on; 0 selects a free one; default: 4690"],
  ["--demo", "run the demonstration"],
] as const;

describe("terms and their meanings", () => {
  test("are printed side by side without a width", () => {
    expect(twoColumns(rows)).toEqual([
      "  --port <number>  port to listen on; 0 selects a free one; default: 4690",
      "  --demo           run the demonstration",
    ]);
  });

  test("are wrapped at the width", () => {
    expect(twoColumns(rows, 50)).toEqual([
      "  --port <number>  port to listen on; 0 selects a",
      "                   free one; default: 4690",
      "  --demo           run the demonstration",
    ]);
  });

  test("are printed below each other if there is little room", () => {
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
