import { systemClock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import type { WalkEvidence } from "../evidence.js";
import type { ExplainOptions } from "../explain-options.js";
import { checkChild } from "./check-child.js";
import { checkEntry, checkTrust } from "./check-entry.js";
import { createWalk, startsLauncher } from "./walk.js";
import { walkNetwork } from "./walk-network.js";

/** Walks a server from its entry as far as possible, and collects evidence. Throws SERVER_UNKNOWN. */
export async function walkServer(options: ExplainOptions): Promise<WalkEvidence> {
  const { clock = systemClock } = options;
  const { seen, entry, resolved } = checkEntry(options);
  // An entry with errors is not used, trusted or not.
  if (entry === undefined || seen.findings.some(({ severity }) => severity === "error")) return seen;
  const totalMs = options.totalMs ?? (startsLauncher(entry) ? 180_000 : 60_000);
  const over = new AbortController();
  const cancelTimeout = clock.after(totalMs, () => over.abort(walkTimeout(totalMs)));
  try {
    const walk = createWalk(options, entry, over.signal);
    const trust = await checkTrust(walk);
    const known = { ...seen, trust };
    if (resolved === undefined || trust.state !== "trusted") return known;
    try {
      const more = resolved.type === "stdio" ? await checkChild(walk, resolved) : await walkNetwork(walk, resolved);
      return { ...known, ...more };
    } catch (error) {
      if (!ToolServerError.is(error)) throw error;
      // The approval was revoked or the files changed during the walk; or the walk timed out.
      if (error.code === "NOT_TRUSTED")
        return { ...seen, trust: { state: "changed", reason: walk.redact(error.message) } };
      const failure = { code: error.code, message: walk.redact(error.message) };
      return { ...known, attempt: { credential: "none", failure } };
    }
  } finally {
    cancelTimeout();
  }
}

function walkTimeout(totalMs: number): ToolServerError {
  const problem = `The diagnosis took longer than ${totalMs / 1000} s and was stopped.`;
  return new ToolServerError("CALL_TIMEOUT", { problem, advice: "" });
}
