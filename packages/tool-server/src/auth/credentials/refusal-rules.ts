import type { ToolServerErrorCode } from "../../errors.js";
import { type Refusal, type RefusalDecision, statusText } from "./credential.js";

/** Whether a status means that the server rejects the credential or does not allow the request. */
export function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

/** The decision to fail. Without a code, the status decides: UNAUTHORIZED or FORBIDDEN. */
export function giveUp(reason: string, advice = "", code?: ToolServerErrorCode): RefusalDecision {
  return { action: "give-up", reason, advice, code };
}

/** The decision for a credential that does not change by itself. */
export function giveUpUnchanged({ status }: Refusal, credential: string): RefusalDecision {
  if (!isRefusal(status)) return giveUp(`HTTP ${status} does not concern the credential.`);
  return giveUp(`${statusText(status)}: the server rejected ${credential}.`);
}
