import { expect, test } from "vitest";
import { createToolFilter, idlePatternsOf } from "./tool-filter.js";

test.each([
  [undefined, ["read_file", "write_file", "a.b"]],
  [{ allow: ["read_*"] }, ["read_file"]],
  [{ deny: ["write_*"] }, ["read_file", "a.b"]],
  [{ allow: ["*_file"], deny: ["write_file"] }, ["read_file"]],
  [{ allow: [] }, []],
  [{ allow: ["a.b"] }, ["a.b"]],
  [{ allow: ["a?b"] }, []],
  [{ allow: ["*a*_*e"] }, ["read_file"]],
  [{ allow: ["**"], deny: ["*e*d*"] }, ["write_file", "a.b"]],
])("applies the filter %j and offers %j", (filter, names) => {
  expect(["read_file", "write_file", "a.b"].filter(createToolFilter(filter))).toEqual(names);
});

test("matches a long name as fast as a short one, no matter how many stars the pattern has", () => {
  const isOffered = createToolFilter({ deny: ["*read*a*d*file"] });
  const startedAt = performance.now();
  expect(isOffered("read".repeat(100_000))).toBe(true);
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});

test.each([
  [undefined, []],
  [{ allow: ["read_*", "a.b"], deny: ["write_file"] }, []],
  [{ allow: ["raed_*"], deny: ["a?b", "raed_*"] }, ["raed_*", "a?b"]],
])("finds patterns of %j that match nothing: %j", (filter, patterns) => {
  expect(idlePatternsOf(filter, ["read_file", "write_file", "a.b"])).toEqual(patterns);
});
