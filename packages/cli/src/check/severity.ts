import type { Finding, Severity } from "@wirescope/tool-server/config";
import { exitCode } from "../failure.js";

/** How many findings there are of each severity. */
export function countBySeverity(findings: readonly Finding[]): Record<Severity, number> {
  const counts: Record<Severity, number> = { error: 0, warning: 0, note: 0 };
  for (const { severity } of findings) counts[severity] += 1;
  return counts;
}

/** The exit code of a check: 1 for errors, and for warnings where the check is strict. */
export function exitCodeOf(findings: readonly Finding[], isStrict: boolean): number {
  const { error, warning } = countBySeverity(findings);
  return error > 0 || (isStrict && warning > 0) ? exitCode.failure : exitCode.ok;
}
