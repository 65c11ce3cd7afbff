import type { ToolServerErrorCode } from "../../errors.js";
import type { Refusal, RefusalDecision } from "./credential.js";

/** Whether a status says that the server did not accept who we are or what we may do. */
export function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

/** The decision to fail. The status decides about the code if none is given. */
export function giveUp(reason: string, advice = "", code?: ToolServerErrorCode): RefusalDecision {
  return { action: "give-up", reason, advice, code };
}

/** The decision about a refusal of a credential that does not change by itself. */
export function giveUpUnchanged({ status }: Refusal, credential: string): RefusalDecision {
  if (!isRefusal(status)) return giveUp(`HTTP ${status} is not about the credential.`);
  return giveUp(`The server answered ${status} to ${credential}.`);
}
