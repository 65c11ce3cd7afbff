import type { HelperRunReport } from "../../auth/credentials/helper-credential.js";
import type { ConnectionFacts } from "../../diagnostics/facts.js";
import type { Tell } from "../../diagnostics/tell.js";
import { describeDuration } from "../../duration.js";

const causes = {
  first: "for the first headers",
  renewal: "for headers in place of those that expire",
  refusal: "for the server refused the headers",
} as const satisfies Record<HelperRunReport["cause"], string>;

/** Tells of a run of a helper: why, how it ended, how long it took. */
export function tellOfHelper(tell: Tell, facts: ConnectionFacts, run: HelperRunReport): void {
  const { cause, code, durationMs, error, expiresAt, isSandboxed, outcome } = run;
  const took = describeDuration(Math.round(durationMs));
  const where = isSandboxed ? " in the sandbox" : "";
  const end = code === undefined ? outcome : `exit code ${code}`;
  if (error !== undefined) {
    tell(facts, "error", `The helper was run${where} ${causes[cause]}: ${end} after ${took}. ${error.message}`);
    return;
  }
  const until = expiresAt === undefined ? "" : `; its headers are used until ${new Date(expiresAt).toISOString()}`;
  tell(facts, "info", `The helper was run${where} ${causes[cause]}: ${end} after ${took}${until}.`);
}
