import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Who holds a lock, or is about to. */
export interface LockOwner {
  readonly pid: number;
  /** When the process began, as its system tells it: a number of a process is used again. Empty where it is not told. */
  readonly start: string;
  /** Where `pid` means something: a boot and a namespace of processes, or a host. */
  readonly space: string;
  /** Names this one holding; no other ever has it. */
  readonly token: string;
}

/** Whether an owner still runs. It is not sure where its process cannot be seen from here, or told from a later one. */
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

/** What an owner wrote; undefined where it cannot be read, as after a loss of power. */
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

/** Tells whether the process of an owner runs. */
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

/** When a process began, in ticks since the boot; empty for one that has ended and waits to be reaped; undefined where it is not told. */
function startOf(pid: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name stands in brackets, and may itself hold brackets and spaces.
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
    // Without /proc, the name of the host has to do.
  }
  return `${process.platform} ${hostname()}`;
}
