import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { programOf } from "./program.js";

function folderWithCommand(): string {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-path-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const name = process.platform === "win32" ? "wirescope.cmd" : "wirescope";
  writeFileSync(join(folder, name), "");
  chmodSync(join(folder, name), 0o755);
  return folder;
}

const { platform } = process;

test.each([
  ["by npm run or npx, in a project", "/project/node_modules/.bin/wirescope"],
  ["by npx, without a project", "/home/ada/.npm/_npx/1f/node_modules/.bin/wirescope"],
  ["by the script that npm writes on Windows", "C:\\project\\node_modules\\wirescope\\bin\\wirescope.js"],
])("suggests npx for a command that is started %s", (_, script) => {
  expect(programOf({ env: { PATH: "/project/node_modules/.bin" }, platform, script })).toBe("npx wirescope");
  expect(programOf({ env: {}, platform, script })).toBe("npx wirescope");
});

test("suggests the bare name for a command that is on the PATH, however it was started", () => {
  const env = { PATH: ["/project/node_modules/.bin", folderWithCommand()].join(delimiter) };
  expect(programOf({ env, platform, script: "/project/node_modules/.bin/wirescope" })).toBe("wirescope");
  expect(programOf({ env, platform, script: "/usr/local/bin/wirescope" })).toBe("wirescope");
});
