import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import type { Clock } from "../clock.js";

const firstPollMs = 5;
const maxPollMs = 50;
/** The time limit for a group to end after KILL; a process stuck in the kernel takes longer. */
const killWaitMs = 1000;

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
  await isGoneWithin(group, killWaitMs, clock);
}

async function isGoneWithin(group: number, limitMs: number, clock: Clock): Promise<boolean> {
  const deadline = clock.now() + limitMs;
  for (let pauseMs = firstPollMs; isGroupAlive(group); pauseMs = Math.min(pauseMs * 2, maxPollMs)) {
    if (clock.now() >= deadline) return false;
    // Polls with the system clock, regardless of the clock that measures the limit.
    await setTimeout(pauseMs);
  }
  return true;
}

/** Ends a process group when this process has ended in any way. */
export interface Watchdog {
  /** The mark in the child's environment, to find it if we end before its group is known. */
  readonly mark: Readonly<Record<string, string>>;
  /** Sets the group to end. */
  guard(group: number): void;
  /** Releases the group, because it has ended or was never started. */
  release(): void;
  /** Whether it is active. False if `/bin/sh` is missing, or if the watchdog was killed. */
  readonly isAlive: boolean;
}

const markName = "WIRESCOPE_WATCHDOG";

/**
 * The script of the watchdog; it gets no untrusted input. It reads a line with the group, then waits for another: a second line releases
 * the group, and the end of the pipe means that this process is gone. The kernel closes the pipe however this process ends, which is all
 * that Node can rely on: it cannot use PR_SET_PDEATHSIG, which would not apply to grandchildren. `kill -s` is the only form that every
 * shell accepts with a group.
 *
 * If the pipe ends before the first line, this process may have ended between starting the child and naming its group. On Linux, the
 * watchdog then searches for processes with the mark, for a second, because a forked process has the mark only after `exec`.
 */
const script = `
trap "" HUP INT QUIT TERM
if read -r group; then
  case $group in *[!0-9]*) exit 0 ;; esac
  read -r word && exit 0
  kill -s TERM -- "-$group" || exit 0
  looks=0
  while [ "$looks" -lt 20 ] && kill -s 0 -- "-$group"; do
    sleep 0.1 || sleep 1
    looks=$((looks + 1))
  done
  kill -s KILL -- "-$group"
  exit 0
fi
[ -r /proc/self/environ ] || exit 0
looks=0
while [ "$looks" -lt 10 ]; do
  for marked in $(grep -slF "$1" /proc/[0-9]*/environ); do
    pid=\${marked#/proc/}
    pid=\${pid%/environ}
    kill -s KILL -- "-$pid"
    kill -s KILL "$pid"
  done
  sleep 0.1 || sleep 1
  looks=$((looks + 1))
done
`;

/**
 * Starts a watchdog: a small shell in its own session, which does not keep this process alive. Start it before the child.
 */
export function startWatchdog(): Watchdog {
  const mark = randomUUID();
  const shell = spawn("/bin/sh", ["-c", script, "wirescope-watchdog", `${markName}=${mark}`], {
    cwd: "/",
    detached: true,
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "ignore"],
  });
  let isAlive = shell.pid !== undefined;
  const onEnd = (): void => {
    isAlive = false;
  };
  shell.on("error", onEnd);
  shell.once("exit", onEnd);
  // A broken pipe adds nothing to the exit.
  shell.stdin.on("error", () => {});
  shell.unref();
  if ("unref" in shell.stdin && typeof shell.stdin.unref === "function") shell.stdin.unref();
  return {
    mark: process.platform === "linux" ? { [markName]: mark } : {},
    get isAlive() {
      return isAlive;
    },
    guard(group) {
      shell.stdin.write(`${group}\n`);
    },
    release() {
      shell.stdin.end("released\n");
    },
  };
}
