import { readFileSync } from "node:fs";
import { UsageError } from "../usage-error.js";

/** The text of a file that an option names; undefined where it names none. Throws a UsageError where it cannot be read. */
export function readPem(path: string | undefined, option: string): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new UsageError(`The file of ${option}, ${path}, cannot be read${why}.`);
  }
}
