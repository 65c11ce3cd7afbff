import { setMaxListeners } from "node:events";
import { acquireLockFile } from "./lock-file.js";
import type { LockOwner } from "./lock-owner.js";
import { type RunLockedOptions, runLocked } from "./run-locked.js";
import { createTurnQueue } from "./turn-queue.js";

export interface FileLockOptions extends Pick<RunLockedOptions, "signal" | "waitMs" | "clock"> {
  /** Sends away who waits, and lets be who runs. */
  readonly closing?: AbortSignal | undefined;
  /** What to fail with when the wait was too long; `holder` is who had the lock, in words. */
  tooLong(holder: string, waitMs: number): Error;
  /** What to fail with when the lock was lost to another who took this process for dead. */
  lost(): Error;
  /** What to fail with when the system does not let us lock. */
  failed(error: unknown): unknown;
}

// For the whole process, by path: two who lock one file wait for each other without asking the disk.
const turns = createTurnQueue();
const never = new AbortController().signal;
setMaxListeners(0, never);

/** Runs a task while no other of this or another process runs one under the lock that is a file at `path`, a real path. */
export function withFileLock<T>(
  path: string,
  task: (signal: AbortSignal) => Promise<T>,
  options: FileLockOptions,
): Promise<T> {
  const { closing = never, clock, signal, waitMs } = options;
  let holder = "this process itself";
  return runLocked(task, {
    signal,
    waitMs,
    closing,
    clock,
    async take(waiting) {
      const end = await turns.take(path, waiting);
      holder = "another process";
      const onBusy = (owner: LockOwner | undefined): void => {
        if (owner !== undefined) holder = `the process ${owner.pid}`;
      };
      try {
        const held = await acquireLockFile(path, { signal: waiting, clock, onBusy, lost: () => options.lost() });
        return { lost: held.lost, release: () => held.release().finally(end) };
      } catch (error) {
        end();
        throw waiting.aborted ? error : options.failed(error);
      }
    },
    tooLong: (patienceMs) => options.tooLong(holder, patienceMs),
  });
}
