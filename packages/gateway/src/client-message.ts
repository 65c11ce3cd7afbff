import { ToolServerError, type ToolServerErrorCode } from "@wirescope/tool-server";
import { describeProblem, errorObjectOf, RpcError } from "@wirescope/tool-server/internal";

/** Failures of a call, with advice for its caller. That of all others is for the operator. */
const callerCodes: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "CALL_CANCELLED",
  "CALL_REFUSED",
  "CALL_TIMEOUT",
  "CONNECTION_CLOSED",
  "MESSAGE_TOO_LARGE",
  "SERVER_BUSY",
  "SESSION_LOST",
]);

/** What failed and why, without advice for the operator; undefined if the error has none. */
export function problemOf(error: unknown): string | undefined {
  if (error instanceof RpcError) return error.problem;
  if (!ToolServerError.is(error) || error.advice === "" || callerCodes.has(error.code)) return undefined;
  return describeProblem(error);
}

/** The message of an error as clients get it: if there is a contact, with whom to ask instead of advice for the operator. */
export function clientMessage(error: unknown, contact: string | undefined): string {
  const problem = contact === undefined ? undefined : problemOf(error);
  return problem === undefined ? errorObjectOf(error).message : `${problem} Ask ${contact}.`;
}
