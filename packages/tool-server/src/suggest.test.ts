import { expect, test } from "vitest";
import { suggest } from "./suggest.js";

test.each([
  ["chanels", "channels"],
  ["tre", "tree"],
  ["shwo", "show"],
  ["TREE", "tree"],
  ["socket", "sockets"],
  ["time-out", "timeout"],
  ["dryrun", "dry-run"],
  ["i-d_s", "ids"],
  ["zzz", undefined],
  ["", undefined],
])('suggests for "%s" the word %s', (word, expected) => {
  expect(suggest(word, ["channels", "servers", "sockets", "show", "tree", "timeout", "dry-run", "ids"])).toBe(expected);
});
