import { printableText } from "@wirescope/channelz/internal/text";
import { PhaseKind } from "@wirescope/gateway/admin";
import type { Tone } from "../design/index.js";
import type { CallRow, Outcome } from "../shell/store/index.js";

const tones: Readonly<Record<Outcome, Tone>> = {
  running: "connecting",
  ok: "ready",
  "tool error": "failing",
  error: "failing",
  cancelled: "idle",
  "needs input": "waiting",
};

export const outcomes: readonly Outcome[] = ["running", "ok", "tool error", "error", "cancelled", "needs input"];

export function toneOfOutcome(outcome: Outcome): Tone {
  return tones[outcome];
}

/** The title of a call: the tool, or the method with its subject if it has one. */
export function titleOfCall({ method, name }: Pick<CallRow, "method" | "name">): string {
  const subject = printableText(name, 200);
  if (method === "tools/call" && subject !== "") return subject;
  return subject === "" ? printableText(method, 200) : `${printableText(method, 200)} ${subject}`;
}

const phaseTitles: Readonly<Partial<Record<PhaseKind, string>>> = {
  [PhaseKind.QUEUED]: "Queue",
  [PhaseKind.CREDENTIAL]: "Credential",
  [PhaseKind.REFRESH]: "Token refresh",
  [PhaseKind.HELPER]: "Helper",
  [PhaseKind.SIGN_IN]: "Sign-in",
  [PhaseKind.STEP_UP]: "Step-up",
  [PhaseKind.DISCOVERY]: "Discovery",
  [PhaseKind.REGISTRATION]: "Registration",
  [PhaseKind.CONNECTING]: "Connecting",
  [PhaseKind.LOOKUP]: "DNS",
  [PhaseKind.TCP]: "TCP",
  [PhaseKind.PROXY]: "Proxy",
  [PhaseKind.TLS]: "TLS",
  [PhaseKind.REQUEST]: "Request",
  [PhaseKind.SERVER]: "Server",
  [PhaseKind.RESPONSE]: "Response",
  [PhaseKind.RETRY]: "Sent again",
};

export function titleOfPhase(kind: PhaseKind): string {
  return phaseTitles[kind] ?? "Phase";
}

const explanations: Readonly<Partial<Record<PhaseKind, string>>> = {
  [PhaseKind.QUEUED]: "All connections to the server were busy.",
  [PhaseKind.CREDENTIAL]: "The call waited for the headers that authenticate it.",
  [PhaseKind.CONNECTING]: "The call waited for a session or a socket.",
  [PhaseKind.SERVER]: "Until the response started, including the network.",
  [PhaseKind.RESPONSE]: "The rest of the response.",
};

/** What a phase means; undefined if its title is enough. */
export function explanationOfPhase(kind: PhaseKind): string | undefined {
  return explanations[kind];
}
