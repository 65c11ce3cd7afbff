import { expect, test } from "vitest";
import { createPalette, wantsColour } from "./screen.js";

test.each([
  ["a terminal", {}, true, false, true],
  ["a pipe", {}, false, false, false],
  ["a terminal with NO_COLOR", { NO_COLOR: "1" }, true, false, false],
  ["a terminal with an empty NO_COLOR", { NO_COLOR: "" }, true, false, true],
  ["a pipe with FORCE_COLOR", { FORCE_COLOR: "1" }, false, false, true],
  ["a pipe with FORCE_COLOR and NO_COLOR", { FORCE_COLOR: "1", NO_COLOR: "1" }, false, false, true],
  ["a terminal with FORCE_COLOR=0", { FORCE_COLOR: "0" }, true, false, false],
  ["a dumb terminal", { TERM: "dumb" }, true, false, false],
  ["--no-color over FORCE_COLOR", { FORCE_COLOR: "1" }, true, true, false],
])("decides on colour for %s (%#)", (_, env, isTty, isSwitchedOff, expected) => {
  expect(wantsColour(env, isTty, isSwitchedOff)).toBe(expected);
});

test("leaves text unchanged without colour", () => {
  expect(createPalette(false).bad("x")).toBe("x");
  expect(createPalette(true).bad("x")).toBe("\u001b[31mx\u001b[39m");
  expect(createPalette(true).bad("")).toBe("");
});
