import { mkdirSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createUserFolder, program } from "./command.test.helper.js";
import { type EndedProcess, endOf, startProcess } from "./running-process.test.helper.js";

/** The folders of the PATH, without those that have this command. */
const systemPath = [dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);

test.runIf(process.platform !== "win32").each([
  ["from the project's packages, it names npx", "node_modules/.bin", "npx wirescope", undefined],
  ["from the PATH, it names the command alone", "bin", "wirescope", "bin"],
])("prints advice that can be pasted into the shell that ran the command: %s", async (_, place, name, onPath) => {
  const { folder, home, configure } = createUserFolder();
  configure({ files: { command: "files-server" } });
  mkdirSync(join(folder, place), { recursive: true });
  symlinkSync(program, join(folder, place, "wirescope"));
  const env = {
    HOME: home,
    PATH: onPath === undefined ? systemPath : [join(folder, onPath), systemPath].join(delimiter),
    // What is not found in the project must not be searched elsewhere.
    npm_config_offline: "true",
    npm_config_yes: "false",
    npm_config_update_notifier: "false",
  };
  const shell = (command: string): Promise<EndedProcess> =>
    endOf(startProcess("/bin/sh", ["-c", command], { cwd: folder, env }));

  const refused = await shell(`${name} tools files`);
  expect(refused.stderr).toContain(`approve it: ${name} trust files.`);
  const advice = /approve it: ([^.]+)\./.exec(refused.stderr)?.[1] ?? "";
  const followed = await shell(advice);
  expect(`${followed.stdout}${followed.stderr}`).toContain("files-server");

  const misused = await shell(`${name} trust --nonsense`);
  const help = /See (.+)\.\n/.exec(misused.stderr)?.[1] ?? "";
  expect(help).toBe(`${name} trust --help`);
  expect(await shell(help)).toMatchObject({ code: 0, stdout: expect.stringContaining("Usage: wirescope trust") });
});
