import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, test } from "vitest";
import { lostEntries } from "./lost-entries.js";

test("entries that cannot be understood are not forgotten, and each is told of once", () => {
  const configuration = parseConfiguration(
    JSON.stringify({
      mcpServers: { good: { command: "node" }, text: "node", empty: { wrong: 1 }, odd: { command: "x", y: 1 } },
    }),
  );
  expect(configuration.entries.map(({ name }) => name)).toEqual(["good", "odd"]);
  expect(lostEntries(configuration).map(({ server }) => server)).toEqual(["text", "empty"]);
});
