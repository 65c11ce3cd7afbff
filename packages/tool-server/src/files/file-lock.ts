import { setMaxListeners } from "node:events";
import { type Clock, untilAborted } from "../clock.js";
import { acquireLockFile, type HeldLock, type LockOwner } from "./lock-file.js";

/** Options for waiting for a lock. */
export interface WaitOptions {
  /** Rejects a waiting caller with its reason, and aborts the signal of a running task. */
  readonly signal?: AbortSignal | undefined;
  /** Rejects waiting callers, but does not affect a running task. */
  readonly closing?: AbortSignal | undefined;
  /** How long to wait for the lock, in milliseconds. Default 30,000. */
  readonly waitMs?: number | undefined;
  readonly clock: Clock;
  /** The error for a wait that took too long; `holder` describes the process that holds the lock. */
  tooLong(holder: string, waitMs: number): Error;
}

export interface FileLockOptions extends WaitOptions {
  /** The error for a lock that another process took over because it considered this process dead. */
  lost(): Error;
  /** Converts a file system error. */
  failed(error: unknown): unknown;
}

const defaultWaitMs = 30_000;
const never = new AbortController().signal;
setMaxListeners(0, never);

/** The end of the last turn for each lock. Callers of one process queue here and do not poll the disk. */
const turns = new Map<string, Promise<void>>();

/**
 * Runs a task while no other caller, in this or another process, runs one under the lock file at `path`, a real path. With
 * `inProcess`, `path` is any name, no file is written, and only callers of this process exclude each other.
 */
export async function withFileLock<T>(
  path: string,
  task: (signal: AbortSignal) => Promise<T>,
  options: FileLockOptions | (WaitOptions & { readonly inProcess: true }),
): Promise<T> {
  const { signal = never, closing = never, clock, waitMs = defaultWaitMs } = options;
  signal.throwIfAborted();
  closing.throwIfAborted();
  const waiting = new AbortController();
  const running = new AbortController();
  let holder = "this process itself";
  const abort = (): void => {
    waiting.abort(signal.reason);
    running.abort(signal.reason);
  };
  const stopWaiting = (): void => waiting.abort(closing.reason);
  signal.addEventListener("abort", abort, { once: true });
  closing.addEventListener("abort", stopWaiting, { once: true });
  const cancelTimer = clock.after(waitMs, () => waiting.abort(options.tooLong(holder, waitMs)));
  let endTurn: (() => void) | undefined;
  let held: HeldLock | undefined;
  const lose = (): void => running.abort(held?.lost.reason);
  try {
    endTurn = await takeTurn(path, waiting.signal);
    holder = "another process";
    if (!("inProcess" in options)) {
      const onBusy = (owner: LockOwner | undefined): void => {
        if (owner !== undefined) holder = `the process ${owner.pid}`;
      };
      const lost = (): Error => options.lost();
      held = await acquireLockFile(path, { signal: waiting.signal, clock, onBusy, lost }).catch((error: unknown) => {
        throw waiting.signal.aborted ? error : options.failed(error);
      });
    }
    cancelTimer();
    held?.lost.addEventListener("abort", lose, { once: true });
    signal.throwIfAborted();
    return await task(running.signal);
  } finally {
    cancelTimer();
    signal.removeEventListener("abort", abort);
    closing.removeEventListener("abort", stopWaiting);
    held?.lost.removeEventListener("abort", lose);
    await held?.release();
    endTurn?.();
  }
}

/** Resolves when it is this caller's turn, with the function that ends it. Rejects with the signal's reason, and leaves the queue. */
async function takeTurn(name: string, signal: AbortSignal): Promise<() => void> {
  const before = turns.get(name) ?? Promise.resolve();
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const mine = before.then(() => ended);
  turns.set(name, mine);
  void mine.then(() => {
    if (turns.get(name) === mine) turns.delete(name);
  });
  try {
    await untilAborted(before, signal);
  } catch (error) {
    end();
    throw error;
  }
  return end;
}
