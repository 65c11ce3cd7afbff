import type { MessageInitShape } from "@bufbuild/protobuf";
import { ToolServerError, type ToolServerErrorCode } from "@wirescope/tool-server";
import type { Failure, FailureSchema } from "../../gen/wirescope/v1/admin_pb.js";

/** A failure as a message. */
export function failureToMessage(
  error: ToolServerError,
  redact: (text: string) => string,
): MessageInitShape<typeof FailureSchema> {
  const { issuerChange, foreignOrigin, unsetVariables = [] } = error.details;
  return {
    code: error.code,
    message: redact(error.message),
    subject: redact(error.subject),
    problem: redact(error.problem),
    evidence: redact(error.evidence),
    advice: redact(error.advice),
    unsetVariables: [...unsetVariables],
    ...(issuerChange && { issuerChange: { from: redact(issuerChange.from), to: redact(issuerChange.to) } }),
    ...(foreignOrigin && {
      foreignOrigin: { issuer: redact(foreignOrigin.issuer), origin: redact(foreignOrigin.origin) },
    }),
  };
}

/** The failure that a message holds; undefined if the gateway has no code for it. */
export function failureFromMessage(message: Failure, cause?: unknown): ToolServerError | undefined {
  if (message.code === "") return undefined;
  const { subject, problem, evidence, advice, issuerChange, foreignOrigin, unsetVariables } = message;
  return new ToolServerError(
    message.code as ToolServerErrorCode,
    // A gateway of an older version sends the message alone.
    problem === "" ? { problem: message.message, advice: "" } : { subject, problem, evidence, advice },
    {
      ...(cause === undefined ? {} : { cause }),
      details: {
        ...(unsetVariables.length > 0 && { unsetVariables }),
        ...(issuerChange && { issuerChange: { from: issuerChange.from, to: issuerChange.to } }),
        ...(foreignOrigin && { foreignOrigin: { issuer: foreignOrigin.issuer, origin: foreignOrigin.origin } }),
      },
    },
  );
}
