import { parseEnvFile } from "@wirescope/tool-server/config";
import { expect, test } from "vitest";
import { tellEnvFindings } from "./tell-env-findings.js";

test("a line of an environment file that is passed over is told, with its place and without what stands there", () => {
  const { findings } = parseEnvFile("GOOD=1\nexport hunter2 secret\n", "/etc/my.env");
  let stderr = "";
  tellEnvFindings(findings, { stderr: { write: (text) => (stderr += text) } });
  expect(stderr).toMatch(/^wirescope: \/etc\/my\.env:2:\d+: The line is not NAME=value\. .* The line is ignored\.\n$/);
  expect(stderr).not.toContain("hunter2");
});
