import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

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
export type Liveness = "alive" | "dead" | "unsure";

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
export function parseLockOwner(text: string): LockOwner | undefined {
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
  return isThere(owner.pid) ? "unsure" : "dead";
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

function isThere(pid: number): boolean {
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
