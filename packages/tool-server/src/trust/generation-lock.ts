import { randomUUID } from "node:crypto";
import { open, readdir, readFile, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A lock that is held. */
export interface HeldLock {
  /** Whether it is held still: one who was stopped for so long that others took it for dead has lost it. */
  isHeld(): Promise<boolean>;
}

/** Who holds a lock for too long. */
export class LockTimeout extends Error {
  readonly file: string;
  readonly owner: string;

  constructor(file: string, owner: string) {
    super(`${file} is held by ${owner}.`);
    this.file = file;
    this.owner = owner;
  }
}

/** Who takes a lock. */
export interface LockOwner {
  readonly pid: number;
  readonly host: string;
  readonly token: string;
}

const free = "free\n";
// A lock is held for milliseconds. These are for holders of whom nothing can be found out.
const longestHoldMs = 60_000;
const longestSilenceMs = 3_000;
const ownTokens = new Set<string>();

/**
 * Runs `body` while no other process runs one for the same file. Waits for `patienceMs`, then throws a LockTimeout.
 *
 * The lock is a row of files beside it with a number each, of which the highest counts; to take the lock is to create the
 * next. The highest is never deleted, also not when it is free, so that a dead holder is passed by going one further: two
 * who find it dead cannot both create the same file, and neither can delete what the other has just made. One who acts on an
 * old view creates a file below the highest, sees that, and starts anew.
 */
export async function withGenerationLock<T>(
  file: string,
  patienceMs: number,
  body: (lock: HeldLock) => Promise<T>,
): Promise<T> {
  const owner: LockOwner = { pid: process.pid, host: hostname(), token: randomUUID() };
  ownTokens.add(owner.token);
  try {
    const number = await acquire(file, owner, patienceMs);
    try {
      return await body({ isHeld: async () => (await highest(file)) === number });
    } finally {
      await release(lockFile(file, number));
    }
  } finally {
    ownTokens.delete(owner.token);
  }
}

async function acquire(file: string, owner: LockOwner, patienceMs: number): Promise<number> {
  const deadline = performance.now() + patienceMs;
  for (let waitMs = 2; ; waitMs = Math.min(50, waitMs * 1.5)) {
    const last = await highest(file);
    const holder = last === 0 ? undefined : await holderOf(lockFile(file, last));
    if (holder === undefined) {
      if (await takeNext(file, last, owner)) return last + 1;
    } else if (performance.now() > deadline) throw new LockTimeout(lockFile(file, last), holder);
    else await sleep(waitMs * (0.5 + Math.random()));
  }
}

/** Takes the lock that follows `last`, and tells whether that was the highest still. Exported for its test alone. */
export async function takeNext(file: string, last: number, owner: LockOwner): Promise<boolean> {
  const next = lockFile(file, last + 1);
  if (!(await create(next, owner))) return false;
  if ((await highest(file)) !== last + 1) {
    await rm(next, { force: true });
    return false;
  }
  await removeBelow(file, last + 1);
  return true;
}

/** Who holds the lock, in words; undefined where it is free or its holder is no more. */
async function holderOf(path: string): Promise<string | undefined> {
  let text: string;
  let ageMs: number;
  try {
    text = await readFile(path, "utf8");
    ageMs = Math.abs(Date.now() - (await stat(path)).mtimeMs);
  } catch (error) {
    // Someone went further and cleaned up.
    if (codeOf(error) === "ENOENT") return "another process";
    throw error;
  }
  if (text === free) return undefined;
  const owner = parseOwner(text);
  // Created and not yet written to, or never to be.
  if (owner === undefined) return ageMs > longestSilenceMs ? undefined : "another process";
  const { pid, host, token } = owner;
  const name = `process ${pid} of ${host}`;
  if (ageMs > longestHoldMs) return undefined;
  if (host !== hostname()) return name;
  if (pid === process.pid) {
    // The pid of one that ended before us, as happens in containers; or another thread of ours.
    return ownTokens.has(token) || ageMs <= longestSilenceMs ? name : undefined;
  }
  return isAlive(pid) ? name : undefined;
}

async function create(path: string, owner: LockOwner): Promise<boolean> {
  try {
    await using handle = await open(path, "wx", 0o600);
    await handle.writeFile(JSON.stringify(owner));
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

async function release(path: string): Promise<void> {
  try {
    // Not created anew: where it is gone, we lost it.
    await using handle = await open(path, "r+");
    await handle.truncate(0);
    await handle.write(free, 0);
  } catch {
    // What was done is done. Others find a lock whose holder they cannot find, and pass it in time.
  }
}

async function highest(file: string): Promise<number> {
  return Math.max(0, ...(await numbersOf(file)));
}

async function removeBelow(file: string, number: number): Promise<void> {
  for (const lower of (await numbersOf(file)).filter((each) => each < number)) {
    await rm(lockFile(file, lower), { force: true });
  }
}

async function numbersOf(file: string): Promise<number[]> {
  const prefix = `${basename(file)}.lock.`;
  return (await readdir(dirname(file)))
    .filter((name) => name.startsWith(prefix) && /^[1-9]\d{0,14}$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)));
}

function lockFile(file: string, number: number): string {
  return `${file}.lock.${number}`;
}

function parseOwner(text: string): LockOwner | undefined {
  try {
    const { pid, host, token } = JSON.parse(text);
    const isOwner = Number.isSafeInteger(pid) && pid > 0 && typeof host === "string" && typeof token === "string";
    return isOwner ? { pid, host, token } : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
