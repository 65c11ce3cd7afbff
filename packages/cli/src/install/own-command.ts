import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../package-root.js";
import type { Place } from "./clients.js";

/** A program and its arguments. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * How another program starts this command: by its name where that is on the PATH, else by Node and the file itself. On Windows always so:
 * what npm puts on the PATH there is a script, which not every client can start.
 */
export function ownCommand(place: Pick<Place, "env" | "platform">): CommandLine {
  if (place.platform !== "win32" && isOnPath("wirescope", place)) return { command: "wirescope", args: [] };
  return {
    command: process.execPath,
    args: [fileURLToPath(new URL("bin/wirescope.js", packageRoot))],
  };
}

/** Whether a command is found on the PATH. Relative folders, and those that npm adds for one run, do not count. */
export function isOnPath(name: string, { env, platform }: Pick<Place, "env" | "platform">): boolean {
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
