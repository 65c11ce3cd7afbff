import type { ConnectedFacts } from "./facts.js";

/** What a server said of itself, in a line. */
export function spokenEvidence(connected: ConnectedFacts | undefined): string | undefined {
  if (connected === undefined) return undefined;
  const { name, version, protocolVersion, era, tools } = connected;
  const who = [name ?? "A server without a name", version].filter(Boolean).join(" ");
  const list = tools === undefined ? "" : `; ${tools} ${tools === 1 ? "tool" : "tools"}`;
  return `${who}, protocol ${protocolVersion} (${era} era)${list}.`;
}
