import { ToolServerError, type ToolServerErrorCode } from "../errors.js";

/** What is known of a failure. Holds no secret. */
export interface FailureFacts {
  readonly code: ToolServerErrorCode;
  readonly message: string;
  /** What to do about it, if the failure itself says so. */
  readonly advice?: string | undefined;
  readonly status?: number | undefined;
  readonly rpcCode?: number | undefined;
  /** What the server, or the authorization server, said of it. */
  readonly said?: string | undefined;
  /** Whether the server asked for a client certificate, or rejected the one it was given. */
  readonly needsClientCertificate?: boolean | undefined;
}

/** The facts of a failure. Throws what is none of ours: that is a defect here, and not of the server. */
export function failureFactsOf(error: unknown, redact: (text: string) => string): FailureFacts {
  if (!ToolServerError.is(error)) throw error;
  const { code, message, advice, details } = error;
  const { status, rpcCode, said, connecting } = details;
  return {
    code,
    message: redact(message),
    advice: advice && redact(advice),
    status,
    rpcCode,
    said: said && redact(said),
    needsClientCertificate: connecting?.needsClientCertificate,
  };
}

/** Whether an error is part of what a walk finds: a failure of ours, but that the entry may not act, which ends the walk. */
export function isFinding(error: unknown): error is ToolServerError {
  return ToolServerError.is(error) && error.code !== "NOT_TRUSTED";
}
