import { accessSync, constants, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { unreadable } from "../file-failure.js";

/** The text of the file that an option names; undefined without the option. Throws a UsageError if it cannot be read. */
export function readPem(path: string | undefined, option: string): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw unreadable(path, option, error);
  }
}

/**
 * The file that an option names, for a caller that reads it whenever it changes; undefined without the option. It is only checked here,
 * because a pipe can be read only once. Throws a UsageError if it cannot be read.
 */
export function pemFileOf(path: string | undefined, option: string): { readonly file: string } | undefined {
  if (path === undefined) return undefined;
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw unreadable(path, option, error);
  }
  return { file: resolve(path) };
}
