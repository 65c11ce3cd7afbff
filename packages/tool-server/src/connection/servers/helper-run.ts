import type { HelperRunReport } from "../../auth/credentials/helper-credential.js";
import type { ConnectionInfo } from "../../connection-info.js";
import type { Reporter } from "../../diagnostics.js";
import { describeDuration } from "../../duration.js";

const starts = {
  first: (where: string) => `Ran the helper${where} to obtain headers`,
  renewal: (where: string) => `Ran the helper${where} to replace headers that expire`,
  refusal: (where: string) => `Ran the helper again${where} because the server rejected its headers`,
} as const satisfies Record<HelperRunReport["cause"], (where: string) => string>;

/** Reports a run of a helper in the trace of its connection: the cause, the exit code and the duration. */
export function reportHelperRun(report: Reporter, info: ConnectionInfo, run: HelperRunReport): void {
  const { cause, code, durationMs, error, expiresAt, isSandboxed, outcome } = run;
  const start = starts[cause](isSandboxed ? " in the sandbox" : "");
  const end = `${code === undefined ? outcome : `exit code ${code}`} after ${describeDuration(Math.round(durationMs))}`;
  if (error !== undefined) {
    report(info, "error", `${start}: ${end}. ${error.message}`);
    return;
  }
  const until = expiresAt === undefined ? "" : `; the headers are used until ${new Date(expiresAt).toISOString()}`;
  report(info, "info", `${start}: ${end}${until}.`);
}
