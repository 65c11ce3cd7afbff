import { describeDuration } from "../duration.js";
import { ToolServerError, type ToolServerErrorCode, withAdvice } from "../errors.js";
import { isSafeMethod } from "./safe-methods.js";

const personCodes: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "UNAUTHORIZED",
  "FORBIDDEN",
  "SIGN_IN_NEEDED",
  "SIGN_IN_FAILED",
  "ISSUER_CHANGED",
  "AUTHORIZATION_ORIGIN_UNCONFIRMED",
  "NOT_TRUSTED",
  "CHILD_NOT_RUNNABLE",
  "CREDENTIAL_UNUSABLE",
  "HELPER_NOT_RUNNABLE",
  "REDIRECT_REFUSED",
]);

/** Whether only a person can fix it: another attempt soon after would fail in the same way. */
export function needsPerson({ code }: ToolServerError): boolean {
  return personCodes.has(code);
}

const endingCodes: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "SERVER_UNREACHABLE",
  "SESSION_LOST",
  "CHILD_EXITED",
  "UNAUTHORIZED",
  "SIGN_IN_NEEDED",
]);

/** Whether it is of the connection, and not of the one call. */
export function endsSession({ code }: ToolServerError): boolean {
  return endingCodes.has(code);
}

/** Failures of the connection, after which the next attempt may do better. */
const passingCodes: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "CONNECTION_LOST",
  "SESSION_LOST",
  "CHILD_EXITED",
  "SERVER_UNREACHABLE",
]);

/** Whether a call that failed so may be made again: it never arrived, or it changes nothing and the connection was at fault. */
export function isRepeatable({ code, details }: ToolServerError, method: string): boolean {
  return passingCodes.has(code) && (details.wasSent === false || isSafeMethod(method));
}

/** It was closed on this side. */
export function closedConnection(server: string): ToolServerError {
  const problem = `The connection to the server ${JSON.stringify(server)} was closed.`;
  return new ToolServerError("CONNECTION_CLOSED", { problem, advice: "" });
}

/** The server ended it, and nobody knows why. */
export function lostConnection(server: string): ToolServerError {
  const problem = `The server ${JSON.stringify(server)} ended the connection.`;
  return new ToolServerError("CONNECTION_LOST", { problem, advice: "" });
}

/** A failure that has to rest before the server is asked again. */
export function restingConnection(error: ToolServerError, restMs: number): ToolServerError {
  return new ToolServerError(
    error.code,
    withAdvice(error, `It is tried again in ${describeDuration(Math.ceil(restMs / 1000) * 1000)}.`),
    { cause: error, details: { ...error.details, wasSent: false } },
  );
}
