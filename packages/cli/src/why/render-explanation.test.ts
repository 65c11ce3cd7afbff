import type { Explanation } from "@wirescope/tool-server/why";
import { expect, test } from "vitest";
import { createScreen } from "../output/screen.js";
import { renderExplanation } from "./render-explanation.js";

const explanation: Explanation = {
  server: "tickets",
  type: "http",
  isWell: false,
  causes: [
    { code: "wrong-path", weight: 0.95, problem: "No server.", evidence: [], fix: { advice: "Correct the path." } },
  ],
  notes: [],
  steps: [{ step: "configuration", outcome: "ok", evidence: ["An entry."] }],
  requirements: [],
  permissions: undefined,
};

function linesIn(columns: number | undefined): string[] {
  const stdout = { write: () => true, isTTY: columns !== undefined, columns };
  return renderExplanation(explanation, createScreen({ stdout, stderr: stdout, env: {}, now: () => new Date() }, true));
}

test("prints the title on one line, with the likelihood of the cause", () => {
  expect(linesIn(undefined)[0]).toBe("✗ tickets: The server is at another path. (wrong-path, found)");
});

test("wraps the title in a narrow terminal", () => {
  expect(linesIn(50).slice(0, 2)).toEqual(["✗ tickets: The server is at another path.", "  (wrong-path, found)"]);
  expect(linesIn(30).slice(0, 2)).toEqual(["✗ tickets: The server is at", "  another path."]);
  for (const columns of [30, 50]) expect(linesIn(columns).filter((line) => line.length > columns)).toEqual([]);
});
