import type { CheckOutcome } from "@wirescope/tool-server/why";
import type { Palette } from "../output/screen.js";

/** The mark of an outcome in a checklist. */
export function markOf(outcome: CheckOutcome, { good, bad, faint }: Palette): string {
  if (outcome === "ok") return good("✓");
  return outcome === "failed" ? bad("✗") : faint("-");
}
