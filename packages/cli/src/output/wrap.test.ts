import { expect, test } from "vitest";
import { wrap } from "./wrap.js";

test("lines fit the width and break at spaces", () => {
  expect(wrap("one two three four", 11, "  ")).toEqual(["  one two", "  three", "  four"]);
});

test("a word that is wider than the width keeps a line of its own", () => {
  expect(wrap("a https://example.com/long b", 10, "")).toEqual(["a", "https://example.com/long", "b"]);
});

test("without a width there is one line", () => {
  expect(wrap("one two", undefined, "> ")).toEqual(["> one two"]);
});
