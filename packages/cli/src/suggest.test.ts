import { expect, test } from "vitest";
import { suggest } from "./suggest.js";

test.each([
  ["chanels", "channels"],
  ["tre", "tree"],
  ["shwo", "show"],
  ["TREE", "tree"],
  ["socket", "sockets"],
  ["zzz", undefined],
  ["", undefined],
])("%s is taken for %s", (word, expected) => {
  expect(suggest(word, ["channels", "servers", "sockets", "show", "tree"])).toBe(expected);
});
