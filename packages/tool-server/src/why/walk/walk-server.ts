import { systemClock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import type { ExplainOptions } from "../explain-options.js";
import type { WalkFacts } from "../facts.js";
import { lookAtChild } from "./look-at-child.js";
import { lookAtEntry } from "./look-at-entry.js";
import { lookAtTrust } from "./look-at-trust.js";
import { walkOver } from "./time-limit.js";
import { createWalk, startsLauncher } from "./walk.js";
import { walkNetwork } from "./walk-network.js";

/** Walks a server from its entry as far as it goes, and tells what was found. Throws SERVER_UNKNOWN. */
export async function walkServer(options: ExplainOptions): Promise<WalkFacts> {
  const { clock = systemClock } = options;
  const { facts, entry, resolved } = lookAtEntry(options);
  // An entry with errors is not to be judged, trusted or not.
  if (entry === undefined || facts.findings.some(({ severity }) => severity === "error")) return facts;
  const totalMs = options.totalMs ?? (startsLauncher(entry) ? 180_000 : 60_000);
  const over = new AbortController();
  const callOff = clock.after(totalMs, () => over.abort(walkOver(totalMs)));
  try {
    const walk = createWalk(options, entry, over.signal);
    const trust = await lookAtTrust(walk);
    const known = { ...facts, trust };
    if (resolved === undefined || trust.state !== "trusted") return known;
    try {
      const found = resolved.type === "stdio" ? await lookAtChild(walk, resolved) : await walkNetwork(walk, resolved);
      return { ...known, ...found };
    } catch (error) {
      if (!ToolServerError.is(error)) throw error;
      // It was taken back, or the files changed, while the walk went on; or its time is over.
      if (error.code === "NOT_TRUSTED")
        return { ...facts, trust: { state: "changed", words: walk.redact(error.message) } };
      const failure = { code: error.code, message: walk.redact(error.message) };
      return { ...known, attempt: { credential: "none", failure } };
    }
  } finally {
    callOff();
  }
}
