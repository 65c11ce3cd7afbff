import { ToolServerError } from "../../errors.js";
import { notTrusted } from "../../trust/judge-trust.js";
import type { TrustFacts } from "../facts.js";
import type { Walk } from "./walk.js";

const reasons = {
  approval: "It was approved, and has not changed since.",
  policy: "The policy allows it.",
  flag: "It is trusted for this run.",
} as const;

/** Whether the entry may act. Nothing of it acts for this. */
export async function lookAtTrust({ options, entry, redact }: Walk): Promise<TrustFacts> {
  try {
    const judgement = await options.judgeTrust(entry);
    if (judgement.state === "trusted") return { state: "trusted", words: reasons[judgement.by] };
    return { state: judgement.state, words: redact(notTrusted(entry.name, judgement).message) };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return { state: "unreadable", words: redact(error.message) };
  }
}
