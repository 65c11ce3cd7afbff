import { readFileSync } from "node:fs";

/** How many files this process may have open at the same time. A socket counts as a file. Infinity if there is no limit. */
export function maxOpenFiles(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1] ?? Infinity);
  } catch {
    // On Linux this takes ten times as long.
    return reportedMaxOpenFiles();
  }
}

/** The same, from a diagnostic report, which exists on every system. Windows has no such limit. */
export function reportedMaxOpenFiles(): number {
  // The types of Node 20 lack it.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const before = report.excludeNetwork;
  // Otherwise it looks up the names of all peers.
  report.excludeNetwork = true;
  try {
    const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
    const soft = userLimits?.open_files?.soft;
    return typeof soft === "number" ? soft : Infinity;
  } finally {
    report.excludeNetwork = before;
  }
}
