import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";

/** A started process, and its output so far. */
export interface RunningProcess {
  readonly process: ChildProcessWithoutNullStreams;
  /** Resolves with its exit code, when it has ended and all output is read. */
  readonly ended: Promise<number | null>;
  stdout: string;
  stderr: string;
}

export interface ProcessOptions {
  readonly cwd?: string | undefined;
  /** All its variables. */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** Starts a process; it runs until it ends or the test does. */
export function startProcess(command: string, args: readonly string[], options: ProcessOptions = {}): RunningProcess {
  const child = spawn(command, args, { ...options, stdio: "pipe" });
  const ended = once(child, "close").then(([code]) => code as number | null);
  const run: RunningProcess = { process: child, ended, stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (run.stdout += chunk));
  child.stderr.on("data", (chunk) => (run.stderr += chunk));
  onTestFinished(async () => {
    child.kill();
    await ended;
  });
  return run;
}

/** The exit code and the output of a process. */
export interface EndedProcess {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Waits for the end of a process. */
export async function endOf(run: RunningProcess): Promise<EndedProcess> {
  const code = await run.ended;
  return { code, stdout: run.stdout, stderr: run.stderr };
}

/** Waits for standard output to match, and resolves with it. Rejects with the output if the process ends before that. */
export async function untilPrinted(run: RunningProcess, pattern: RegExp): Promise<string> {
  let exit: { code: number | null } | undefined;
  void run.ended.then((code) => {
    exit = { code };
  });
  while (!pattern.test(run.stdout)) {
    if (exit !== undefined) throw new Error(`The process ended with code ${exit.code}.\n${run.stdout}${run.stderr}`);
    await Promise.race([once(run.process.stdout, "data"), run.ended]);
  }
  return run.stdout;
}
