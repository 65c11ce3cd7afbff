import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createUserFolder } from "./command.test.helper.js";
import { paste, workIn } from "./pasted-command.test.helper.js";
import { runGateway } from "./running-command.test.helper.js";

/** Starts a gateway that cannot write its file, runs the commands that it prints in a shell, and returns what they print. */
async function followNotice(...options: string[]): Promise<{ notice: string; commands: string[] }> {
  const { folder, home, configure } = createUserFolder();
  workIn(folder);
  configure({ absent: { command: "/nowhere/at-all" } });
  // Instead of a read-only folder, which is writable for root.
  const state = join(home, ".local/state");
  mkdirSync(dirname(state));
  writeFileSync(state, "");
  writeFileSync(join(folder, "my token"), "a-token-of-at-least-32-characters-in-a-file\n", { mode: 0o600 });
  const env = { HOME: home, PATH: process.env.PATH ?? "" };
  const up = await runGateway(["--trust", "--no-color", ...options], { env });
  const notice = up.stdout;
  const commands =
    /another terminal:\n\n(.*?)\n\n/s
      .exec(notice)?.[1]
      ?.split("\n")
      .map((line) => line.trim()) ?? [];
  const exports = commands.filter((each) => each.startsWith("export "));
  for (const command of commands.filter((each) => !exports.includes(each))) {
    const { code, stdout } = await paste([...exports, command].join("\n"), env);
    expect([code, stdout], command).toEqual([0, expect.stringMatching(/./)]);
  }
  await up.stop();
  expect(up.stderr).toContain("Other commands cannot find this gateway, because its file cannot be written");
  expect(up.stderr).toContain(`(ENOTDIR: ${state}/wirescope/gateways)`);
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
