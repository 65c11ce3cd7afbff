import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { RegistrySize } from "@wirescope/channelz";

/** What a process holds. */
export interface Census {
  readonly files: number;
  readonly sockets: number;
  /** Its descendants. */
  readonly processes: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly registry: RegistrySize;
  /** CPU time so far. */
  readonly cpuMs: number;
}

/** Counts what this process holds. Only Linux reports that. */
export function takeCensus(registry: RegistrySize): Census {
  const links = readdirSync("/proc/self/fd").map(linkOf);
  const { heapUsed, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    files: links.length,
    sockets: links.filter((link) => link.startsWith("socket:")).length,
    processes: descendantsOf(process.pid).length,
    heapBytes: heapUsed,
    residentBytes: rss,
    registry,
    cpuMs: Math.round((user + system) / 1000),
  };
}

/** All processes below one, in no order. */
export function descendantsOf(pid: number): readonly number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
    return children.flatMap((child) => [child, ...descendantsOf(child)]);
  } catch {
    // It has ended meanwhile.
    return [];
  }
}

/** The arguments that a process was started with; none where it has ended. */
export function argumentsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

function linkOf(file: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return "";
  }
}
