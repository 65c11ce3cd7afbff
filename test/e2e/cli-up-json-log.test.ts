import { expect, test } from "vitest";
import { createUserFolder, startCommand } from "./command.test.helper.js";
import { endOf } from "./running-process.test.helper.js";

test.each([
  [
    "an audit log that cannot be opened",
    ["--audit-file", "/"],
    "Cannot write the file / (--audit-file): it is a directory.",
  ],
  ["a configuration that does not exist", ["--config", "/nowhere/mcp.json"], "/nowhere/mcp.json"],
])("prints only JSON to standard error with --log json, also for %s", async (_, options, reason) => {
  const { home, file, configure } = createUserFolder();
  configure({});
  const env = { PATH: process.env.PATH ?? "", HOME: home };
  const { code, stderr } = await endOf(
    startCommand(["up", "--port", "0", "--log", "json", "--config", file, ...options], { env }),
  );
  expect(code).toBe(2);
  const events = stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(events).toContainEqual({ time: expect.any(String), kind: "defect", reason: expect.stringContaining(reason) });
});
