import { expect, test } from "vitest";
import { parseOptions } from "../options.js";
import { assertNothingToListenTo } from "./stdio-options.js";
import { upOptions } from "./up-options.js";

function check(...args: string[]): () => void {
  return () => assertNothingToListenTo(parseOptions(upOptions, ["--stdio", ...args]).values);
}

test("over pipes nothing is said of listening", () => {
  expect(check("--config", "a.json", "--trust", "--log", "off")).not.toThrow();
});

test.each([["--port", "5"], ["--host", "::1"], ["--no-token"], ["--token-file", "t"], ["--allow-host", "x"]])(
  "an option that would have no effect is refused: %s",
  (...args) => {
    expect(check(...args)).toThrow(`--stdio does not listen, so ${args[0]} has no effect.`);
  },
);
