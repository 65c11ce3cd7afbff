import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { readFileSync, readlinkSync } from "node:fs";
import { link, open, rename, rm, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { backOffMs } from "../back-off.js";
import { type Clock, sleep, untilAborted } from "../clock.js";
import { parseJsonObject } from "../json-object.js";
import { temporaryNameOf } from "./private-file.js";

export interface FileLockOptions {
  /** Rejects a waiting caller with its reason, and aborts the signal of a running task. */
  readonly signal?: AbortSignal | undefined;
  /** Rejects waiting callers, but does not affect a running task. */
  readonly closing?: AbortSignal | undefined;
  /** How long to wait for the lock, in milliseconds. Default 30,000. */
  readonly waitMs?: number | undefined;
  readonly clock: Clock;
  /** Whether only callers of this process exclude each other: `path` is any name then, and no file is written. */
  readonly inProcess?: boolean | undefined;
  /** The error for a wait that took too long; `holder` describes the process that holds the lock. */
  tooLong(holder: string, waitMs: number): Error;
  /** The error for a lock that another process took over because it considered this process dead. */
  lost(): Error;
  /** Converts an error of the file system. */
  failed?(error: unknown): unknown;
}

/**
 * A task under a lock. Its signal aborts when that of the caller does, or once a heartbeat finds that the lock was lost. A process that was
 * suspended learns that earlier from `assertHeld`, which reads the lock, and rejects if it is no longer held.
 */
export type FileLockTask<T> = (signal: AbortSignal, assertHeld: () => Promise<void>) => Promise<T>;

const defaultWaitMs = 30_000;
const never = new AbortController().signal;
setMaxListeners(0, never);

/** The end of the last turn for each lock. Callers of one process queue here and do not poll the disk. */
const turns = new Map<string, Promise<void>>();

/** Runs a task while no other caller, in this or another process, runs one under the lock file at `path`, a real path. */
export async function withFileLock<T>(path: string, task: FileLockTask<T>, options: FileLockOptions): Promise<T> {
  const { signal = never, closing = never, clock, waitMs = defaultWaitMs, lost } = options;
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
  let isOver = false;
  const assertHeld = async (): Promise<void> => {
    if (isOver || (await held?.isHeld()) === false) throw lost();
  };
  try {
    endTurn = await takeTurn(path, waiting.signal);
    holder = "another process";
    if (!options.inProcess) {
      const onBusy = (owner: LockOwner | undefined): void => {
        if (owner !== undefined) holder = `the process ${owner.pid}`;
      };
      const onLost = (): void => running.abort(lost());
      held = await acquireLockFile(path, { signal: waiting.signal, clock, onBusy, onLost }).catch((error: unknown) => {
        throw waiting.signal.aborted ? error : (options.failed?.(error) ?? error);
      });
    }
    cancelTimer();
    signal.throwIfAborted();
    return await task(running.signal, assertHeld);
  } finally {
    isOver = true;
    cancelTimer();
    signal.removeEventListener("abort", abort);
    closing.removeEventListener("abort", stopWaiting);
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

/** A lock file that was taken. */
export interface HeldLock {
  /** Reads whether it is still held: another process may have considered the owner dead, or the file was deleted. */
  isHeld(): Promise<boolean>;
  /** Releases the lock. Does not reject: if it fails, the lock is free once this process ends. */
  release(): Promise<void>;
}

interface LockFileOptions {
  /** Cancels waiting, and rejects with its reason. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Called with the current owner while waiting. */
  onBusy?(owner: LockOwner | undefined): void;
  /** Called when a heartbeat finds that the lock is no longer held. */
  onLost?(): void;
}

export const heartbeatMs = 2_000;
/** How long a lock may have no heartbeat before its owner is considered dead, if its process cannot be looked up. */
export const heartbeatTimeoutMs = 15_000;
const firstPollMs = 4;
const maxPollMs = 100;

interface LockState {
  readonly owner: LockOwner | undefined;
  /** Identifies this lock, even if its owner cannot be read. */
  readonly token: string;
  readonly beat: number;
}

/** Takes the lock file at `path`, across processes. */
export async function acquireLockFile(path: string, options: LockFileOptions): Promise<HeldLock> {
  const { signal, clock } = options;
  const isDead = createDeadOwnerCheck(clock);
  for (let polls = 1; ; polls += 1) {
    signal.throwIfAborted();
    const mine = await tryToTake(path, path, isDead, options.onBusy);
    if (mine !== undefined) return hold(path, mine, options);
    // Jitter, so that waiting processes do not all poll at once.
    const delayMs = backOffMs(Math.min(polls, 8), firstPollMs, maxPollMs) * (0.5 + Math.random());
    await sleep(clock, delayMs, signal);
  }
}

/**
 * Takes a lock once, if it is free or its owner is dead.
 *
 * The file is created complete, by linking a finished one, so it always names its owner. If the owner is dead, exactly one process may replace it:
 * its heir, the one that takes the lock file named after the token of the dead owner, which may be that of a dead heir in turn. An heir checks
 * again that the lock still belongs to the dead owner: it may have read it long ago, and the name may have become free again.
 */
async function tryToTake(
  lock: string,
  path: string,
  isDead: (seen: LockState) => boolean,
  onBusy?: (owner: LockOwner | undefined) => void,
): Promise<LockOwner | undefined> {
  const present = await readLock(path);
  if (present === undefined) return linkOwner(path);
  if (!isDead(present)) {
    onBusy?.(present.owner);
    return undefined;
  }
  const heir = `${lock}.after-${present.token}`;
  const mine = await tryToTake(lock, heir, isDead);
  if (mine === undefined) return undefined;
  let isTaken = false;
  try {
    if ((await readLock(path))?.token !== present.token) return undefined;
    await rename(heir, path);
    isTaken = true;
    return mine;
  } finally {
    // Also after a failure: others would wait for an heir that is alive and does nothing.
    if (!isTaken) await rm(heir, { force: true });
  }
}

/** Creates the file of a new owner at `path`; undefined if the file exists. */
async function linkOwner(path: string): Promise<LockOwner | undefined> {
  const mine = createLockOwner();
  const temporary = temporaryNameOf(path);
  try {
    await writeFile(temporary, JSON.stringify(mine), { flag: "wx", mode: 0o600 });
    await link(temporary, path);
    return mine;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function readLock(path: string): Promise<LockState | undefined> {
  try {
    const file = await open(path, "r");
    try {
      const { mtimeMs, ino } = await file.stat();
      const owner = parseLockOwner(await file.readFile("utf8"));
      return { owner, token: owner?.token ?? `unknown-${ino}-${mtimeMs}`, beat: mtimeMs };
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Decides whether an owner is dead, and remembers how long it has not seen a heartbeat of those whose process it cannot look up. */
function createDeadOwnerCheck(clock: Clock): (seen: LockState) => boolean {
  const silent = new Map<string, { readonly beat: number; readonly since: number }>();
  return ({ owner, token, beat }) => {
    const liveness = owner === undefined ? "unsure" : livenessOf(owner);
    if (liveness !== "unsure") return liveness === "dead";
    const known = silent.get(token);
    if (known?.beat === beat) return clock.now() - known.since >= heartbeatTimeoutMs;
    silent.set(token, { beat, since: clock.now() });
    return false;
  };
}

function hold(path: string, mine: LockOwner, { clock, onLost }: LockFileOptions): HeldLock {
  let isReleased = false;
  let cancelTimer = (): void => {};
  const isHeld = async (): Promise<boolean> => (await readLock(path))?.token === mine.token;
  const beat = async (): Promise<void> => {
    try {
      const isStillHeld = await isHeld();
      if (isReleased) return;
      if (!isStillHeld) return onLost?.();
      await utimes(path, new Date(), new Date());
    } catch {
      // A failed heartbeat is a missed one; many may be missed.
    }
    if (!isReleased) cancelTimer = clock.after(heartbeatMs, () => void beat());
  };
  cancelTimer = clock.after(heartbeatMs, () => void beat());
  return {
    isHeld,
    async release() {
      isReleased = true;
      cancelTimer();
      try {
        if (await isHeld()) await rm(path, { force: true });
      } catch {
        // See `HeldLock.release`.
      }
    },
  };
}

/** The process that holds a lock, or is about to. */
export interface LockOwner {
  readonly pid: number;
  /** The start time of the process as reported by the system, because process ids are reused. Empty if it is unknown. */
  readonly start: string;
  /** The scope of `pid`: a boot and a PID namespace, or a host. */
  readonly space: string;
  /** Identifies this acquisition; it is never reused. */
  readonly token: string;
}

/** Whether an owner still runs. "unsure" if its process is not visible from here, or cannot be distinguished from a later one. */
type Liveness = "alive" | "dead" | "unsure";

interface Self {
  readonly space: string;
  readonly start: string;
}

let known: Self | undefined;

function self(): Self {
  known ??= { space: spaceOf(), start: startOf(process.pid) ?? "" };
  return known;
}

/** This process, as the owner of a new lock. */
export function createLockOwner(): LockOwner {
  return { pid: process.pid, ...self(), token: randomUUID() };
}

/** Parses the content of a lock file; undefined if it is damaged, for example by a power failure. */
function parseLockOwner(text: string): LockOwner | undefined {
  const { pid, start, space, token } = parseJsonObject(text) ?? {};
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid <= 0) return undefined;
  // The token becomes a part of a path.
  if (typeof token !== "string" || !/^[\w-]{1,64}$/.test(token)) return undefined;
  if (typeof start !== "string" || typeof space !== "string") return undefined;
  return { pid, start, space, token };
}

/** Whether the process of an owner runs. */
export function livenessOf(owner: LockOwner): Liveness {
  const { space, start } = self();
  if (owner.space !== space) return "unsure";
  // Another thread of this process may have ended without a trace.
  if (owner.pid === process.pid && owner.start === start) return "unsure";
  if (process.platform === "linux") {
    const now = startOf(owner.pid);
    if (now !== undefined && owner.start !== "") return now === owner.start ? "alive" : "dead";
  }
  return processExists(owner.pid) ? "unsure" : "dead";
}

/** The start time of a process, in ticks since the boot; empty for a zombie; undefined if it is unknown. */
function startOf(pid: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The process name is in parentheses, and may itself contain parentheses and spaces.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? "" : fields[19];
  } catch {
    return undefined;
  }
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function spaceOf(): string {
  try {
    if (process.platform === "linux") {
      const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
      return `linux ${boot} ${readlinkSync("/proc/self/ns/pid")}`;
    }
  } catch {
    // Without /proc, use the host name.
  }
  return `${process.platform} ${hostname()}`;
}
