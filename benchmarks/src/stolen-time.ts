import { readFileSync } from "node:fs";

/** CPU time of the whole machine since its start, in ticks of the kernel. */
export interface CpuTime {
  readonly total: number;
  /** Time for which this machine was ready to run, but its host ran others. */
  readonly stolen: number;
}

/** Undefined if the system does not report it. */
export function readCpuTime(): CpuTime | undefined {
  try {
    const numbers = readFileSync("/proc/stat", "utf8").split("\n", 1)[0]!.split(/\s+/).slice(1, 9).map(Number);
    return { total: numbers.reduce((sum, each) => sum + each, 0), stolen: numbers[7] ?? 0 };
  } catch {
    return undefined;
  }
}

/** A sentence about the time stolen since then, if that makes the figures unreliable. */
export function stolenTimeWarning(since: CpuTime | undefined): string | undefined {
  const now = readCpuTime();
  if (since === undefined || now === undefined) return undefined;
  const percent = Math.round(((now.stolen - since.stolen) * 100) / (now.total - since.total));
  if (percent < 2) return undefined;
  return `The host of this virtual machine used ${percent} % of its CPU time for others meanwhile. A missed goal may be due to that.`;
}
