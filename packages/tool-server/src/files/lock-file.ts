import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { link, open, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { backOffMs } from "../back-off.js";
import { type Clock, sleep } from "../clock.js";
import { temporaryNameOf } from "./durable-file.js";

/** A lock that is held. */
export interface HeldLock {
  /** Aborts when another process considered the owner dead and took the lock, or when the file was deleted. */
  readonly lost: AbortSignal;
  /** Releases the lock. Does not reject: if it fails, the lock is free once this process ends. */
  release(): Promise<void>;
}

interface LockFileOptions {
  /** Cancels waiting, and rejects with its reason. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** The reason with which `lost` aborts. */
  lost(): Error;
  /** Called with the current owner while waiting. */
  onBusy?(owner: LockOwner | undefined): void;
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

/**
 * Takes the lock file at `path`, across processes.
 *
 * The file is created complete, by linking a finished one, so it always names its owner. If the owner is dead, exactly one
 * process may replace it: the one that links a file named after the token of the dead owner is its heir, and only
 * the heir replaces the lock. An heir may die as well; then its own heir does so. An heir checks again that the lock
 * still belongs to the dead owner: it may have read it long ago, and the name may have become free again.
 */
export async function acquireLockFile(path: string, options: LockFileOptions): Promise<HeldLock> {
  const { signal, clock } = options;
  const isDead = createDeadOwnerCheck(clock);
  for (let polls = 1; ; polls += 1) {
    signal.throwIfAborted();
    const base = await readLock(path);
    if (base === undefined) {
      const mine = await linkOwner(path);
      if (mine !== undefined) return hold(path, mine, options);
    } else if (!isDead(base)) {
      options.onBusy?.(base.owner);
    } else {
      const last = await lastOfDead(path, base, isDead);
      const mine = last === undefined ? undefined : await inherit(path, base, last);
      if (mine !== undefined) return hold(path, mine, options);
    }
    // Jitter, so that waiting processes do not all poll at once.
    const delayMs = backOffMs(Math.min(polls, 8), firstPollMs, maxPollMs) * (0.5 + Math.random());
    await sleep(clock, delayMs, signal);
  }
}

/** The last of a chain of dead heirs; undefined if one of them is alive. */
async function lastOfDead(
  path: string,
  base: LockState,
  isDead: (seen: LockState) => boolean,
): Promise<LockState | undefined> {
  let last = base;
  for (;;) {
    const heir = await readLock(heirPath(path, last.token));
    if (heir === undefined) return last;
    if (!isDead(heir)) return undefined;
    last = heir;
  }
}

async function inherit(path: string, base: LockState, last: LockState): Promise<LockOwner | undefined> {
  const place = heirPath(path, last.token);
  const mine = await linkOwner(place);
  if (mine === undefined) return undefined;
  let isTaken = false;
  try {
    if ((await readLock(path))?.token !== base.token) return undefined;
    await rename(place, path);
    isTaken = true;
  } finally {
    // Also after a failure: others would wait for an heir that is alive and does nothing.
    if (!isTaken) await rm(place, { force: true });
  }
  await removeHeirs(path, mine).catch(() => {});
  return mine;
}

function heirPath(path: string, token: string): string {
  return `${path}.after-${token}`;
}

/** Removes the files of heirs that died before they took the lock. Only the holder of the lock may: no process needs them now. */
async function removeHeirs(path: string, mine: LockOwner): Promise<void> {
  const folder = dirname(path);
  const prefix = basename(heirPath(path, ""));
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix) || name.endsWith(mine.token)) continue;
    const heir = await readLock(join(folder, name));
    if (heir?.owner !== undefined && livenessOf(heir.owner) === "dead") await rm(join(folder, name), { force: true });
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

function hold(path: string, mine: LockOwner, options: LockFileOptions): HeldLock {
  const { clock } = options;
  const lost = new AbortController();
  let released = false;
  let cancelTimer = (): void => {};
  const isMine = async (): Promise<boolean> => (await readLock(path))?.token === mine.token;
  const beat = async (): Promise<void> => {
    try {
      const isStillMine = await isMine();
      if (released) return;
      if (isStillMine) await utimes(path, new Date(), new Date());
      else lost.abort(options.lost());
    } catch {
      // A failed heartbeat is a missed one; many may be missed.
    }
    if (!released && !lost.signal.aborted) cancelTimer = clock.after(heartbeatMs, () => void beat());
  };
  cancelTimer = clock.after(heartbeatMs, () => void beat());
  return {
    lost: lost.signal,
    async release() {
      released = true;
      cancelTimer();
      try {
        if (await isMine()) await rm(path, { force: true });
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
  const { pid, start, space, token } = fieldsOf(text);
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid <= 0) return undefined;
  // The token becomes a part of a path.
  if (typeof token !== "string" || !/^[\w-]{1,64}$/.test(token)) return undefined;
  if (typeof start !== "string" || typeof space !== "string") return undefined;
  return { pid, start, space, token };
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
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
