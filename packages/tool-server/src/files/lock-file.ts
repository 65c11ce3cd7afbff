import { link, open, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { backOffMs } from "../back-off.js";
import { type Clock, sleep } from "../clock.js";
import { temporaryNameOf } from "./durable-file.js";
import { createLockOwner, type LockOwner, livenessOf, parseLockOwner } from "./lock-owner.js";

/** A lock that is held. */
export interface HeldLock {
  /** Aborts when another process considered the owner dead and took the lock, or when the file was deleted. */
  readonly lost: AbortSignal;
  /** Releases the lock. Does not reject: if it fails, the lock is free once this process ends. */
  release(): Promise<void>;
}

export interface LockFileOptions {
  /** Gives up waiting, and rejects with its reason. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** The reason with which `lost` aborts. */
  lost(): Error;
  /** Called with the current owner while waiting. */
  onBusy?(owner: LockOwner | undefined): void;
}

export const heartbeatMs = 2_000;
/** How long a lock must be seen without a heartbeat before its owner is considered dead, if its process cannot be looked up. */
export const silenceMs = 15_000;
const firstPollMs = 4;
const maxPollMs = 100;

interface Seen {
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
    const base = await look(path);
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
async function lastOfDead(path: string, base: Seen, isDead: (seen: Seen) => boolean): Promise<Seen | undefined> {
  let last = base;
  for (;;) {
    const heir = await look(heirPath(path, last.token));
    if (heir === undefined) return last;
    if (!isDead(heir)) return undefined;
    last = heir;
  }
}

async function inherit(path: string, base: Seen, last: Seen): Promise<LockOwner | undefined> {
  const place = heirPath(path, last.token);
  const mine = await linkOwner(place);
  if (mine === undefined) return undefined;
  let isTaken = false;
  try {
    if ((await look(path))?.token !== base.token) return undefined;
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

/** Removes the files of heirs that died on the way. Only the holder of the lock may: nobody relies on them now. */
async function removeHeirs(path: string, mine: LockOwner): Promise<void> {
  const folder = dirname(path);
  const prefix = basename(heirPath(path, ""));
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix) || name.endsWith(mine.token)) continue;
    const heir = await look(join(folder, name));
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

async function look(path: string): Promise<Seen | undefined> {
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
function createDeadOwnerCheck(clock: Clock): (seen: Seen) => boolean {
  const silent = new Map<string, { readonly beat: number; readonly since: number }>();
  return ({ owner, token, beat }) => {
    const liveness = owner === undefined ? "unsure" : livenessOf(owner);
    if (liveness !== "unsure") return liveness === "dead";
    const known = silent.get(token);
    if (known?.beat === beat) return clock.now() - known.since >= silenceMs;
    silent.set(token, { beat, since: clock.now() });
    return false;
  };
}

function hold(path: string, mine: LockOwner, options: LockFileOptions): HeldLock {
  const { clock } = options;
  const lost = new AbortController();
  let released = false;
  let cancelTimer = (): void => {};
  const isMine = async (): Promise<boolean> => (await look(path))?.token === mine.token;
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
