import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** The folder of this checkout. */
export const root: string = fileURLToPath(new URL("../..", import.meta.url));

/** An `npm start` that runs. */
export interface Started {
  readonly process: ChildProcessWithoutNullStreams;
  /** Resolves with its exit code. */
  readonly ended: Promise<number | null>;
  stdout: string;
  stderr: string;
}

export interface StartOptions {
  /** Variables beside, or in place of, those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: this checkout. */
  readonly cwd?: string;
}

/** Runs `npm start` with arguments, until it ends or the test does. */
export function npmStart(args: readonly string[], { env = {}, cwd = root }: StartOptions = {}): Started {
  const child = spawn("npm", ["start", "--", ...args], { cwd, env: { ...process.env, ...env } });
  const ended = once(child, "close").then(([code]) => code as number | null);
  const run: Started = { process: child, ended, stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (run.stdout += chunk));
  child.stderr.on("data", (chunk) => (run.stderr += chunk));
  onTestFinished(async () => {
    child.kill();
    await ended;
  });
  return run;
}

/** Waits for standard output to match; what ends before that fails with all it said. */
export async function untilPrinted(run: Started, pattern: RegExp): Promise<string> {
  let exit: { code: number | null } | undefined;
  void run.ended.then((code) => {
    exit = { code };
  });
  while (!pattern.test(run.stdout)) {
    if (exit !== undefined) throw new Error(`npm start ended with code ${exit.code}.\n${run.stdout}${run.stderr}`);
    await Promise.race([once(run.process.stdout, "data"), run.ended]);
  }
  return run.stdout;
}
