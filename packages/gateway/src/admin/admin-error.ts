import { Code, ConnectError } from "@connectrpc/connect";
import { ToolServerError, type ToolServerErrorCode } from "@wirescope/tool-server";
import { FailureSchema } from "../gen/wirescope/v1/admin_pb.js";
import { failureToMessage } from "./messages/failure-message.js";

/** What the caller can do about it decides the status; what is not named here is of the server behind, or of the way to it. */
const statuses: Partial<Record<ToolServerErrorCode, Code>> = {
  SERVER_UNKNOWN: Code.NotFound,
  ENTRY_INVALID: Code.FailedPrecondition,
  VARIABLE_UNUSABLE: Code.FailedPrecondition,
  CREDENTIAL_UNUSABLE: Code.FailedPrecondition,
  CREDENTIAL_CONFLICT: Code.FailedPrecondition,
  NOT_TRUSTED: Code.FailedPrecondition,
  SIGN_IN_NEEDED: Code.FailedPrecondition,
  SIGN_IN_FAILED: Code.FailedPrecondition,
  ISSUER_CHANGED: Code.FailedPrecondition,
  AUTHORIZATION_ORIGIN_UNCONFIRMED: Code.FailedPrecondition,
  REGISTRATION_REFUSED: Code.FailedPrecondition,
  TOKEN_REFUSED: Code.FailedPrecondition,
  APPROVALS_UNREADABLE: Code.FailedPrecondition,
  CONFIGURATION_UNREADABLE: Code.FailedPrecondition,
  POLICY_UNREADABLE: Code.FailedPrecondition,
  VAULT_UNREADABLE: Code.FailedPrecondition,
  VAULT_KEY_WRONG: Code.FailedPrecondition,
};

/** Any failure as one of the service: with a status, a message that says what to do, and the code as its detail. */
export function adminErrorOf(error: unknown, redact: (text: string) => string): ConnectError {
  if (error instanceof ConnectError) return error;
  if (!ToolServerError.is(error)) {
    const why = error instanceof Error ? error.message : String(error);
    if (error instanceof Error && error.name === "AbortError") return new ConnectError(redact(why), Code.Canceled);
    return new ConnectError(redact(`Unexpected error: ${why}`), Code.Internal);
  }
  return new ConnectError(redact(error.message), statuses[error.code] ?? Code.Unavailable, undefined, [
    { desc: FailureSchema, value: failureToMessage(error, redact) },
  ]);
}
