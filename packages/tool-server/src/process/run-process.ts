import { systemClock } from "../clock.js";
import type { ProcessOutcome, ProcessStop } from "./process-outcome.js";
import { drain } from "./process-output.js";
import { type StartOptions, startProcess } from "./start-process.js";

/** What to run, and its bounds. */
export interface RunOptions extends Omit<StartOptions, "hasStdin" | "patienceMs"> {
  /** What the child reads; without it, it reads an empty file. */
  readonly input?: string | Uint8Array | undefined;
  /** How long it may run. Default 10000. */
  readonly timeLimitMs?: number;
  /** How much it may write to standard output. Default 1 MiB. */
  readonly maxOutputBytes?: number;
}

/** Runs a child to its end and keeps what it wrote. Never rejects: all that can go wrong is an outcome. */
export async function runProcess(options: RunOptions): Promise<ProcessOutcome> {
  const { input, timeLimitMs = 10_000, maxOutputBytes = 1024 * 1024, clock = systemClock, signal } = options;
  const startedAt = clock.now();
  const child = await startProcess({ ...options, hasStdin: input !== undefined, patienceMs: 0 });
  if (child.kind !== "running") return child;

  let stop: ProcessStop | undefined;
  const stopFor = (reason: ProcessStop): void => {
    stop ??= reason;
    child.stdout.destroy();
    void child.end();
  };
  const onAbort = (): void => stopFor({ kind: "aborted" });
  const cancel = clock.after(timeLimitMs, () => stopFor({ kind: "timed-out", limitMs: timeLimitMs }));
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
  // From here on its result stands: what it left behind is ended by a clock of its own.
  cancel();
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
