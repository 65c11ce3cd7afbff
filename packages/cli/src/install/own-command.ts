import { fileURLToPath } from "node:url";
import { packageRoot } from "../package-root.js";
import { isOnPath } from "../program.js";
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
