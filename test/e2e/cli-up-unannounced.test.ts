import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createUserFolder, program, startCommand } from "./command.test.helper.js";
import { endOf, untilPrinted } from "./running-process.test.helper.js";

const execute = promisify(execFile);

/** Starts a gateway that cannot write its file, runs the commands that it prints in a shell, and returns what they print. */
async function followNotice(...options: string[]): Promise<{ notice: string; commands: string[] }> {
  const { folder: cwd, home, configure } = createUserFolder();
  configure({ absent: { command: "/nowhere/at-all" } });
  // Instead of a read-only folder, which is writable for root.
  const state = join(home, ".local/state");
  mkdirSync(dirname(state));
  writeFileSync(state, "");
  writeFileSync(join(cwd, "my token"), "a-token-of-at-least-32-characters-in-a-file\n", { mode: 0o600 });
  const env = { HOME: home, PATH: process.env.PATH ?? "" };
  const up = startCommand(["up", "--port", "0", "--trust", "--no-color", ...options], { cwd, env });
  const notice = await untilPrinted(up, /Press Ctrl-C/);
  const commands =
    /another terminal:\n\n(.*?)\n\n/s
      .exec(notice)?.[1]
      ?.split("\n")
      .map((line) => line.trim()) ?? [];
  const wirescope = `wirescope() { '${process.execPath}' '${program}' "$@"; }`;
  for (const command of commands.filter((each) => !each.startsWith("export "))) {
    const exports = commands.filter((each) => each.startsWith("export "));
    const script = [wirescope, ...exports, command].join("\n");
    const { stdout } = await execute("/bin/sh", ["-ec", script], { cwd, env });
    expect(stdout, command).not.toBe("");
  }
  up.process.kill();
  const { stderr } = await endOf(up);
  expect(stderr).toContain("Other commands cannot find this gateway, because its file cannot be written");
  expect(stderr).toContain(`(ENOTDIR: ${state}/wirescope/gateways)`);
  return { notice, commands };
}

test("prints commands that work if the gateway cannot write its file, and says why it cannot", async () => {
  const { notice, commands } = await followNotice("--print-token");
  expect(commands).toHaveLength(4);
  expect(notice).toMatch(/^ {2}Page +wirescope page --target 127\.0\.0\.1:\d+$/m);
});

test("prints commands that read the token from its file if the gateway cannot write its own", async () => {
  const { commands } = await followNotice("--token-file", "my token");
  expect(commands[0]).toMatch(/^export WIRESCOPE_TOKEN="\$\(cat '.*\/my token'\)"$/);
});

test("prints commands without a token for a gateway that requires none and cannot write its file", async () => {
  const { commands } = await followNotice("--no-token");
  expect(commands).toHaveLength(3);
});
