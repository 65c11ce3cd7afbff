import { readdirSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import type { Clock } from "../clock.js";

const firstLookMs = 5;
const laterLookMs = 50;
/** The time limit for a group to end after KILL; a process stuck in the kernel takes longer. */
const burialMs = 1000;

/** Sends a signal to every process of a group; false if no process is left that we can signal. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    // ESRCH: no process is left. EPERM: the remaining ones are not ours or, on macOS, are zombies.
    return false;
  }
}

/** Whether a process of the group still runs. */
function isGroupAlive(group: number): boolean {
  return signalGroup(group, 0) && !(process.platform === "linux" && isGroupOfZombies(group));
}

/**
 * Whether only zombies are left of a group. A signal reaches them as well, and if the first process of a container does not reap,
 * they stay forever.
 */
function isGroupOfZombies(group: number): boolean {
  try {
    return readdirSync("/proc").every((name) => {
      const stat = /^\d+$/.test(name) ? statOf(name) : "";
      // The program name is in parentheses and may contain anything, so fields are counted after the last one.
      const [state = "Z", , inGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 3);
      return Number(inGroup) !== group || state === "Z" || state === "X";
    });
  } catch {
    return false;
  }
}

function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return "";
  }
}

/**
 * Ends every process of a group: TERM, and KILL for those left after `graceMs`. Resolves when they are gone. No event reports the
 * end of a grandchild, so this polls.
 */
export async function endGroup(group: number, graceMs: number, clock: Clock): Promise<void> {
  if (!signalGroup(group, "SIGTERM")) return;
  if (await isGoneWithin(group, graceMs, clock)) return;
  signalGroup(group, "SIGKILL");
  await isGoneWithin(group, burialMs, clock);
}

async function isGoneWithin(group: number, limitMs: number, clock: Clock): Promise<boolean> {
  const deadline = clock.now() + limitMs;
  for (let pauseMs = firstLookMs; isGroupAlive(group); pauseMs = Math.min(pauseMs * 2, laterLookMs)) {
    if (clock.now() >= deadline) return false;
    // Polls with the system clock, regardless of the clock that measures the limit.
    await setTimeout(pauseMs);
  }
  return true;
}
