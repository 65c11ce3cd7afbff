import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createUserFolder, startCommand } from "./command.test.helper.js";

/** Runs the command with a closed standard output. */
async function runClosed(argv: readonly string[]): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const run = startCommand(argv, { env: { PATH: process.env.PATH ?? "" } });
  run.process.stdout.destroy();
  await once(run.process, "close");
  return { code: await run.ended, stderr: run.stderr };
}

test("a command whose output is closed ends as with SIGPIPE, without a stack trace", async () => {
  expect(await runClosed(["--help"])).toEqual({ code: 141, stderr: "" });
});

test("a check that finds an error fails although its output is closed", async () => {
  const { file } = createUserFolder();
  writeFileSync(file, '{ "mcpServers": { "broken": { "command": 1 } } }');
  expect(await runClosed(["check", file])).toEqual({ code: 1, stderr: "" });
});
