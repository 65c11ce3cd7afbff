import type { CauseCode } from "./cause-table.js";

/** How to fix a cause: with a command, with a change to the configuration, or as the advice says. Contains no secret. */
export interface Fix {
  /** What to do, in a sentence or two. */
  readonly advice: string;
  /** A shell command; `…` is a value that only the user knows. */
  readonly command?: string | undefined;
  /** The position in the configuration file. */
  readonly position?: { readonly file: string; readonly line: number; readonly column: number } | undefined;
  /** What to write at that position. */
  readonly write?: string | undefined;
  /** The variable to set. How to set it depends on the process that reads it; see `ExplainOptions.setVariable`. */
  readonly variable?: string | undefined;
}

/** One possible cause of a failure. Contains no secret. */
export interface Cause {
  readonly code: CauseCode;
  /** How likely this is the cause, from 0 to 1. From 0.9 on it counts as found: it was observed and explains the failure. */
  readonly weight: number;
  /** What is wrong, in a sentence or two. */
  readonly problem: string;
  /** What was observed, one sentence each. */
  readonly evidence: readonly string[];
  readonly fix: Fix;
}

/** The weight from which a cause counts as found. */
export const foundWeight = 0.9;

/** The causes with the likeliest first. Each cause is listed once, with the evidence of everything that points to it. */
export function rankCauses(causes: readonly Cause[]): Cause[] {
  const byKey = new Map<string, Cause>();
  for (const cause of causes) {
    const key = keyOf(cause);
    const known = byKey.get(key);
    const [first, second] = known === undefined || known.weight < cause.weight ? [cause, known] : [known, cause];
    byKey.set(key, { ...first, evidence: [...new Set([...first.evidence, ...(second?.evidence ?? [])])] });
  }
  // The sort is stable: causes of equal weight keep their order.
  return [...byKey.values()].sort((a, b) => b.weight - a.weight);
}

/** Several variables may be unset, and each has its own fix. */
function keyOf({ code, fix, problem }: Cause): string {
  const isRepeatable = code.startsWith("variable-") || code === "entry-invalid" || code === "child-lacks-variable";
  return isRepeatable ? `${code} ${fix.command ?? problem}` : code;
}
