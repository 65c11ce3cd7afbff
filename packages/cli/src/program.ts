import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** The environment that determines how a command can be run. */
export interface ProgramEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

/**
 * How the user can run this command again: by its name if it is on the PATH, else with npx if npm or npx started it. `script` is the
 * path of the started script.
 */
export function programOf({ script, ...environment }: ProgramEnvironment & { readonly script: string }): string {
  const isFromNpm = /[\\/]node_modules[\\/]/.test(script);
  return isFromNpm && !isOnPath("wirescope", environment) ? "npx wirescope" : "wirescope";
}

/** Whether a command is found on the PATH. Relative folders, and those that npm adds for one run, do not count. */
export function isOnPath(name: string, { env, platform }: ProgramEnvironment): boolean {
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  const names = platform === "win32" ? [`${name}.cmd`, `${name}.exe`] : [name];
  return folders
    .filter((folder) => !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder))
    .some((folder) => names.some((file) => isProgram(join(folder, file))));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
