import { mkdirSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createUserFolder, program } from "./command.test.helper.js";
import { type EndedProcess, endOf, startProcess } from "./running-process.test.helper.js";

/** The folders of the PATH, without those that have this command. */
const systemPath = [dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);

/** A shell in a folder with the command in one of its folders, which may be on the PATH. */
function createShell(place: string, onPath: boolean): (command: string) => Promise<EndedProcess> {
  const { folder, home, configure } = createUserFolder();
  configure({ files: { command: "files-server" } });
  mkdirSync(join(folder, place), { recursive: true });
  symlinkSync(program, join(folder, place, "wirescope"));
  const env = {
    HOME: home,
    PATH: onPath ? [join(folder, place), systemPath].join(delimiter) : systemPath,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
    // What is not found in the project must not be searched elsewhere.
    npm_config_offline: "true",
    npm_config_yes: "false",
    npm_config_update_notifier: "false",
  };
  return (command) => endOf(startProcess("/bin/sh", ["-c", command], { cwd: folder, env }));
}

const isWindows = process.platform === "win32";

test.skipIf(isWindows)("prints advice with npx if the command ran from the project's packages", async () => {
  const shell = createShell("node_modules/.bin", false);
  const refused = await shell("npx wirescope tools files");
  expect(refused.stderr).toContain("approve it: npx wirescope trust files.");
  const followed = await shell("npx wirescope trust files");
  expect(`${followed.stdout}${followed.stderr}`).toContain("files-server");
});

test.skipIf(isWindows)("prints advice with the command alone if it ran from the PATH", async () => {
  const shell = createShell("bin", true);
  const misused = await shell("wirescope trust --nonsense");
  expect(misused.stderr).toContain("See wirescope trust --help.\n");
  expect(await shell("wirescope trust --help")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Usage: wirescope trust"),
  });
});
