import { parseConfiguration, parseEnvFile } from "@wirescope/tool-server/config";
import { expect, test } from "vitest";
import { invalidEntries, reportEnvFindings } from "./loaded-configuration.js";

test("keeps entries that cannot be parsed, and reports each once", () => {
  const configuration = parseConfiguration(
    JSON.stringify({
      mcpServers: { good: { command: "node" }, text: "node", empty: { wrong: 1 }, odd: { command: "x", y: 1 } },
    }),
  );
  expect(configuration.entries.map(({ name }) => name)).toEqual(["good", "odd"]);
  expect(invalidEntries(configuration).map(({ server }) => server)).toEqual(["text", "empty"]);
});

test("reports an ignored line of an environment file with its position and without its content", () => {
  const { findings } = parseEnvFile("GOOD=1\nexport hunter2 secret\n", "/etc/my.env");
  let stderr = "";
  reportEnvFindings(findings, { stderr: { write: (text) => (stderr += text) } });
  expect(stderr).toMatch(/^wirescope: \/etc\/my\.env:2:\d+: The line is not NAME=value\. .* The line is ignored\.\n$/);
  expect(stderr).not.toContain("hunter2");
});
