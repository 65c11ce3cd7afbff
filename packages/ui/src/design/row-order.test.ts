import { expect, test } from "vitest";
import { keepOrder, sortRows } from "./row-order.js";

test("sorts numbers by value and names by their digits, with missing values last in both directions", () => {
  const rows = [{ n: 2 }, { n: undefined }, { n: 10 }, { n: 1 }];
  expect(sortRows(rows, ({ n }) => n, false).map(({ n }) => n)).toEqual([1, 2, 10, undefined]);
  expect(sortRows(rows, ({ n }) => n, true).map(({ n }) => n)).toEqual([10, 2, 1, undefined]);
  expect(sortRows(["a10", "a9"], (name) => name, false)).toEqual(["a9", "a10"]);
});

test("keeps rows in their places while others appear and disappear", () => {
  expect(keepOrder(["d", "c", "a"], (row) => row, ["a", "b", "c"])).toEqual(["a", "c", "d"]);
});
