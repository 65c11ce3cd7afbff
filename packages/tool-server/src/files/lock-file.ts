import { link, open, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { backOffMs } from "../back-off.js";
import type { Clock } from "../clock.js";
import { sleep } from "../wait.js";
import { temporaryNameOf } from "./durable-file.js";
import { createLockOwner, type LockOwner, livenessOf, parseLockOwner } from "./lock-owner.js";

/** A lock that is held. */
export interface HeldLock {
  /** Aborts when others took the lock for a dead one's, or somebody deleted it. */
  readonly lost: AbortSignal;
  /** Frees the lock. Does not reject: where it fails, the lock is free once this process ends. */
  release(): Promise<void>;
}

export interface LockFileOptions {
  /** Gives up waiting, and rejects with its reason. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** What a task is told that has lost its lock. */
  lost(): Error;
  /** Told who is waited for. */
  onBusy?(owner: LockOwner | undefined): void;
}

export const heartbeatMs = 2_000;
/** For how long a lock must be seen without a heartbeat until its owner is taken for dead, where it cannot be looked up. */
export const silenceMs = 15_000;
const firstPollMs = 4;
const longestPollMs = 100;

interface Seen {
  readonly owner: LockOwner | undefined;
  /** Names this very lock, also where its owner cannot be read. */
  readonly token: string;
  readonly beat: number;
}

/**
 * Takes the lock that is a file at `path`, also across processes.
 *
 * The file is made whole, by linking a finished one, so that it always says whose it is. Where the owner is dead, somebody has
 * to take its place, and only one may: whoever links a file that is named after the dead one's token is its heir, and
 * the heir alone replaces the lock. An heir may die as well; then its own heir does so. An heir looks again whether the lock
 * still is the dead one's: it may have read it long ago, and come to a name that was free again.
 */
export async function acquireLockFile(path: string, options: LockFileOptions): Promise<HeldLock> {
  const { signal, clock } = options;
  const isDead = createJudge(clock);
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
    // Spread, so that those who wait do not all come at once.
    const delayMs = backOffMs(Math.min(polls, 8), firstPollMs, longestPollMs) * (0.5 + Math.random());
    await sleep(clock, delayMs, signal);
  }
}

/** The last of a row of heirs that all died; undefined where one of them lives. */
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
    // Also where it failed: others would wait for an heir that lives and does nothing.
    if (!isTaken) await rm(place, { force: true });
  }
  await removeHeirs(path, mine).catch(() => {});
  return mine;
}

function heirPath(path: string, token: string): string {
  return `${path}.after-${token}`;
}

/** Removes what heirs left that died on the way. Only who holds the lock may: now nobody goes by them. */
async function removeHeirs(path: string, mine: LockOwner): Promise<void> {
  const folder = dirname(path);
  const prefix = basename(heirPath(path, ""));
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix) || name.endsWith(mine.token)) continue;
    const heir = await look(join(folder, name));
    if (heir?.owner !== undefined && livenessOf(heir.owner) === "dead") await rm(join(folder, name), { force: true });
  }
}

/** Puts a new owner's file at `path` if nothing is there; undefined where something is. */
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

/** Judges owners, and remembers since when it has not seen a heartbeat of those that it cannot look up. */
function createJudge(clock: Clock): (seen: Seen) => boolean {
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
  let callOff = (): void => {};
  const isMine = async (): Promise<boolean> => (await look(path))?.token === mine.token;
  const beat = async (): Promise<void> => {
    try {
      const isStillMine = await isMine();
      if (released) return;
      if (isStillMine) await utimes(path, new Date(), new Date());
      else lost.abort(options.lost());
    } catch {
      // A beat that fails is one that is missed; many may be.
    }
    if (!released && !lost.signal.aborted) callOff = clock.after(heartbeatMs, () => void beat());
  };
  callOff = clock.after(heartbeatMs, () => void beat());
  return {
    lost: lost.signal,
    async release() {
      released = true;
      callOff();
      try {
        if (await isMine()) await rm(path, { force: true });
      } catch {
        // Said above.
      }
    },
  };
}
