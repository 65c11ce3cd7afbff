import { expect, test } from "vitest";
import { createLineSplitter } from "./line-splitter.js";

function split(limit: number, ...chunks: (string | Buffer)[]): (string | undefined)[] {
  const lines: (string | undefined)[] = [];
  const splitter = createLineSplitter(limit, (line) => void lines.push(line));
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  return lines;
}

test("lines come whole, however they were cut, also within a letter", () => {
  expect(split(100, "a\nb", "c\n", "\n", "d")).toEqual(["a", "bc", ""]);
  const letters = Buffer.from("ä\n");
  expect(split(100, letters.subarray(0, 1), letters.subarray(1))).toEqual(["ä"]);
});

test("a line that is too long is none, and the next is one", () => {
  expect(split(3, "abcd", "efg\nxyz\n")).toEqual([undefined, "xyz"]);
  expect(split(3, "abc\n")).toEqual(["abc"]);
});
