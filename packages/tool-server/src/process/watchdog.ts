import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";

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
 * What the watchdog runs; nothing that others wrote ever reaches it. It reads a line with the group, then waits for
 * another: one that comes says that all is well, and the end of the pipe says that we are gone. The kernel closes the
 * pipe whatever kills us, which is all that Node can rely on: PR_SET_PDEATHSIG is out of its reach, and would not hold for
 * grandchildren. `kill -s` is the one form that every shell takes with a group.
 *
 * Where the pipe ends before there is a group, we may have ended between the start of the child and the naming of its
 * group. On Linux, processes with the mark are then looked for; for a second, since what is forked has the mark only once it
 * has become the program.
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
