import { readdirSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import type { Clock } from "../clock.js";

const firstLookMs = 5;
const laterLookMs = 50;
/** How long a group may take to go after KILL; what is stuck in the kernel takes longer. */
const burialMs = 1000;

/** Sends a signal to every process of a group; false where there is none left that we can reach. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    // ESRCH: nobody is left. EPERM: those that are left are not ours, or, on macOS, are zombies.
    return false;
  }
}

/** Whether a process of the group still runs. */
function isGroupAlive(group: number): boolean {
  return signalGroup(group, 0) && !(process.platform === "linux" && isGroupOfZombies(group));
}

/**
 * Whether all that is left of a group are the dead whom nobody has reaped. A signal reaches them as well, and where the
 * first process of a container does not reap, they stay for ever.
 */
function isGroupOfZombies(group: number): boolean {
  try {
    return readdirSync("/proc").every((name) => {
      const stat = /^\d+$/.test(name) ? statOf(name) : "";
      // The name of the program stands in parentheses and may hold anything, so the fields count from the last one.
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
 * Ends every process of a group: TERM, and KILL to those that are left after `graceMs`. Resolves when they are gone. Nobody
 * tells when a grandchild ends, so this looks again and again, for as long as it takes.
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
    // The looks follow the machine, whatever clock the limit is measured by.
    await setTimeout(pauseMs);
  }
  return true;
}
