import type { Explanation } from "@wirescope/tool-server/why";
import { expect, test } from "vitest";
import { createScreen } from "../output/screen.js";
import { renderExplanation } from "./render-explanation.js";

const explanation: Explanation = {
  server: "tickets",
  type: "http",
  isWell: false,
  causes: [
    { cause: "wrong-path", weight: 0.95, message: "There is none.", evidence: [], mend: { what: "Correct the path." } },
  ],
  notes: [],
  steps: [{ step: "configuration", outcome: "ok", evidence: ["An entry."] }],
  demands: [],
  permissions: undefined,
};

function linesIn(columns: number | undefined): string[] {
  const stdout = { write: () => true, isTTY: columns !== undefined, columns };
  return renderExplanation(explanation, createScreen({ stdout, stderr: stdout, env: {}, now: () => new Date() }, true));
}

test("the title stands in a line, with how sure it is", () => {
  expect(linesIn(undefined)[0]).toBe("✗ tickets: The server is at another path. (wrong-path, found)");
});

test("in a narrow terminal the title is broken as the rest is", () => {
  expect(linesIn(50).slice(0, 2)).toEqual(["✗ tickets: The server is at another path.", "  (wrong-path, found)"]);
  expect(linesIn(30).slice(0, 2)).toEqual(["✗ tickets: The server is at", "  another path."]);
  for (const columns of [30, 50]) expect(linesIn(columns).filter((line) => line.length > columns)).toEqual([]);
});
