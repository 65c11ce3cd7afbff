import { fileURLToPath } from "node:url";
import { type RunningProcess, startProcess } from "./running-process.test.helper.js";

/** The folder of this checkout. */
export const root: string = fileURLToPath(new URL("../..", import.meta.url));

export interface StartOptions {
  /** Variables in addition to, or instead of, those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: this checkout. */
  readonly cwd?: string;
}

/** Runs `npm start` with arguments, until it ends or the test does. */
export function npmStart(args: readonly string[], { env = {}, cwd = root }: StartOptions = {}): RunningProcess {
  return startProcess("npm", ["start", "--", ...args], { cwd, env: { ...process.env, ...env } });
}
