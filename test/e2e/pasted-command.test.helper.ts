import { execFileSync } from "node:child_process";
import { onTestFinished } from "vitest";
import { type Run, runCommand } from "./command.test.helper.js";

/** Makes this folder the working directory of this process, until the test ends. */
export function workIn(folder: string): void {
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(folder);
}

/** Prints the number of its arguments, the arguments, and its variables. */
const spread = String.raw`wirescope() { printf '%s\0' "$#" "$@"; env -0; }`;

/** Runs a printed command in this process, with what it gets from the shell of a user who copied it. */
export function paste(command: string, env: Readonly<Record<string, string>>): Promise<Run> {
  const printed = execFileSync("/bin/sh", ["-ec", `${spread}\n${command}`], { env, encoding: "utf8" });
  const [count, ...words] = printed.split("\0").slice(0, -1);
  const argv = words.splice(0, Number(count));
  return runCommand(argv, { env: Object.fromEntries(words.map((word) => word.split(/=(.*)/s))) });
}
