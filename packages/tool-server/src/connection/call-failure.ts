import { ProtocolError, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import type { Cancellation } from "../cancellation.js";
import { describeDuration } from "../duration.js";
import { messageOf, ToolServerError } from "../errors.js";
import { quotedText } from "../printable-text.js";
import { type Redact, redactStart } from "../secrets/redactor.js";
import { redactFailure, redactValue } from "./connection-failures.js";
import type { Call } from "./rpc/call.js";
import { RpcError } from "./rpc/json-rpc.js";
import { jsonLengthOf } from "./rpc/message.js";

export interface FailedCall {
  readonly server: string;
  readonly method: string;
  readonly signal: Cancellation | undefined;
  readonly idleTimeoutMs: number;
  /** Why the transport ended, if it did. */
  readonly transportFailure: ToolServerError | undefined;
  /** Text that was received instead of a response, as a sentence. */
  readonly strayOutput?: string | undefined;
  readonly redact: Redact;
}

const maxText = 2000;
/** The maximum length of the data of an error, in characters of JSON. */
const maxDataLength = 65_536;

/** Converts the error of a call. Text from the server or a library is truncated, escaped and redacted. */
export function callFailure(error: unknown, call: FailedCall): ToolServerError {
  const { server, method, signal, idleTimeoutMs, transportFailure, redact } = call;
  const quotedName = JSON.stringify(server);
  // Errors of schemas have many lines of JSON: escaped line breaks would be hard to read.
  const said = (text: string): string =>
    quotedText(redactStart(text, maxText, redact).replace(/[\r\n]\s*/g, " "), maxText);
  if (signal?.aborted) {
    // Our own time limits have their own error.
    if (ToolServerError.is(signal.reason)) return signal.reason;
    const problem = `${method} on the server ${quotedName} was cancelled.`;
    // Even if the response was not awaited, the server may have received and executed the call.
    const options = { cause: signal.reason, details: { wasSent: true } };
    return new ToolServerError("CALL_CANCELLED", { problem, advice: "" }, options);
  }
  const own = ownFailure(error);
  if (own !== undefined) return redactFailure(own, redact);
  if (error instanceof RpcError || ProtocolError.isInstance(error)) {
    const message = said(error.message);
    const problem = `The server ${quotedName} refused ${method}: ${message}.`;
    const details = { rpcCode: error.code, rpcData: dataOf(error, redact), wasSent: true, said: message };
    // Only the server can say what to do.
    return new ToolServerError("CALL_REFUSED", { problem, advice: "" }, { details });
  }
  if (!SdkError.isInstance(error)) return invalid(quotedName, method, said(messageOf(error)));
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return noResponse(server, method, idleTimeoutMs, call.strayOutput);
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
    case SdkErrorCode.SendFailed: {
      if (transportFailure !== undefined) return redactFailure(withSent(transportFailure, true), redact);
      const problem = `The connection to the server ${quotedName} ended during ${method}.`;
      return new ToolServerError("CONNECTION_LOST", { problem, advice: "" }, { details: { wasSent: true } });
    }
    case SdkErrorCode.EraNegotiationFailed:
      if (transportFailure !== undefined) return redactFailure(withSent(transportFailure, true), redact);
      return invalid(quotedName, method, said(error.message));
    case SdkErrorCode.CapabilityNotSupported:
    case SdkErrorCode.MethodNotSupportedByProtocolVersion: {
      const problem = `The server ${quotedName} does not support ${method}: ${said(error.message)}.`;
      return new ToolServerError("CALL_REFUSED", { problem, advice: "" }, { details: { wasSent: false } });
    }
    default:
      return invalid(quotedName, method, said(error.message));
  }
}

function dataOf({ data }: RpcError | ProtocolError, redact: (text: string) => string): unknown {
  if (data === undefined) return undefined;
  const length = jsonLengthOf(data) ?? Number.POSITIVE_INFINITY;
  return length > maxDataLength ? "[omitted: too large]" : redactValue(data, redact);
}

/** Creates CALL_TIMEOUT for a call without a response or progress; `strayOutput` describes other text that the server sent. */
export function noResponse(
  server: string,
  method: string,
  idleTimeoutMs: number,
  strayOutput?: string,
): ToolServerError {
  const what = `neither responded to ${method} nor reported progress for ${describeDuration(idleTimeoutMs)}`;
  return timedOut(`The server ${JSON.stringify(server)} ${what}. The call was cancelled.`, strayOutput);
}

/** Creates SERVER_BUSY for a call that waited too long for one of the connections to a server, or else CALL_TIMEOUT. */
export function notSent(
  server: string,
  { method, isQueued }: Pick<Call, "method" | "isQueued">,
  waitMs: number,
): ToolServerError {
  const problem = `${method} was not sent to the server ${JSON.stringify(server)} within ${describeDuration(waitMs)}`;
  if (isQueued) {
    const parts = {
      problem: `${problem}: other requests use all connections that may be open.`,
      advice: "Try again later, or check what the server is doing.",
    };
    return new ToolServerError("SERVER_BUSY", parts, { details: { wasSent: false } });
  }
  const advice = "Try again later, or check the connection to the server and its sign-in.";
  const parts = { problem: `${problem}, because the connection was not ready.`, advice };
  return new ToolServerError("CALL_TIMEOUT", parts, { details: { wasSent: false } });
}

/** Creates CALL_TIMEOUT for a call that exceeded its total time. */
export function tooLong(method: string, server: string, totalTimeoutMs: number, wasSent: boolean): ToolServerError {
  const call = `${method} on the server ${JSON.stringify(server)}`;
  const problem = `${call} took longer than ${describeDuration(totalTimeoutMs)} in total, and was cancelled`;
  return timedOut(wasSent ? `${problem}.` : `${problem} before it was sent.`, "", wasSent);
}

/** Creates CALL_TIMEOUT for a handshake; `strayOutput` as in `noResponse`. */
export function slowHandshake(server: string, timeoutMs: number, strayOutput?: string): ToolServerError {
  const what = `did not finish the handshake within ${describeDuration(timeoutMs)}`;
  return timedOut(`The server ${JSON.stringify(server)} ${what}.`, strayOutput);
}

function timedOut(problem: string, evidence = "", wasSent = true): ToolServerError {
  const advice = "Increase the time limit, or check what the server is doing.";
  return new ToolServerError("CALL_TIMEOUT", { problem, evidence, advice }, { details: { wasSent } });
}

/** The error of one of our transports or credentials, even if the SDK wrapped it. */
export function ownFailure(error: unknown): ToolServerError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    if (ToolServerError.is(at)) return at;
  }
  return undefined;
}

/** The same error, for a call that may have been sent, or was not. */
export function withSent(error: ToolServerError, wasSent: boolean): ToolServerError {
  if (error.details.wasSent === wasSent) return error;
  return new ToolServerError(error.code, error, { cause: error, details: { ...error.details, wasSent } });
}

function invalid(quotedName: string, method: string, said: string): ToolServerError {
  const problem = `The server ${quotedName} sent an invalid response to ${method}: ${said}.`;
  const parts = { problem, advice: "Report it to the operator of the server." };
  return new ToolServerError("RESPONSE_INVALID", parts, { details: { wasSent: true, said } });
}
