import { systemClock } from "../clock.js";
import { drain, type ProcessOutcome, type ProcessStop } from "./process-outcome.js";
import { type StartOptions, startProcess } from "./start-process.js";

/** A program to run, and its limits. */
export interface RunOptions extends Omit<StartOptions, "hasStdin" | "exitTimeoutMs"> {
  /** The standard input of the child. Default: an empty file. */
  readonly input?: string | Uint8Array | undefined;
  /** The time limit, in milliseconds. Default 10,000. */
  readonly timeLimitMs?: number;
  /** The maximum size of standard output, in bytes. Default 1 MiB. */
  readonly maxOutputBytes?: number;
}

/** Runs a child process to its end and keeps its output. Never rejects: every failure is an outcome. */
export async function runProcess(options: RunOptions): Promise<ProcessOutcome> {
  const { input, timeLimitMs = 10_000, maxOutputBytes = 1024 * 1024, clock = systemClock, signal } = options;
  const startedAt = clock.now();
  const child = await startProcess({ ...options, hasStdin: input !== undefined, exitTimeoutMs: 0 });
  if (child.kind !== "running") return child;

  let stop: ProcessStop | undefined;
  const stopFor = (reason: ProcessStop): void => {
    stop ??= reason;
    child.stdout.destroy();
    void child.end();
  };
  const onAbort = (): void => stopFor({ kind: "aborted" });
  const stopTimer = clock.after(timeLimitMs, () => stopFor({ kind: "timed-out", limitMs: timeLimitMs }));
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });

  const chunks: Buffer[] = [];
  let size = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= maxOutputBytes) chunks.push(chunk);
    else stopFor({ kind: "too-much-output", limitBytes: maxOutputBytes });
  });
  child.stdin?.end(input);

  const exit = await child.exited;
  // From here on the result is final: processes that it left behind are ended with the system clock.
  stopTimer();
  signal?.removeEventListener("abort", onAbort);
  await child.ended;
  await drain(child.stdout);
  return {
    ...(stop ?? exit),
    stdout: Buffer.concat(chunks),
    stderr: child.stderr(),
    durationMs: clock.now() - startedAt,
  };
}
