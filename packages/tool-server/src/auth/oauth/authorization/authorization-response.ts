import type { ToolServerError } from "../../../errors.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText } from "../oauth-failure.js";
import type { AuthorizationAttempt } from "./authorization-attempt.js";

type Expected = Pick<AuthorizationAttempt, "state" | "issuer" | "sendsIssuer">;

/**
 * The code that an authorization response carries. Its state and then its issuer (RFC 9207) are compared, as they are, before anything
 * else of it is believed or shown. Throws SIGN_IN_FAILED where they differ, or where it carries an error.
 */
export function processAuthorizationResponse(
  context: OAuthContext,
  expected: Expected,
  parameters: URLSearchParams,
): string {
  const code = parameters.get("code");
  if (code !== null) context.secrets.add(code);
  const failed = (problem: string, advice = "Sign in again."): ToolServerError =>
    oauthFailure(context, "SIGN_IN_FAILED", { problem, advice });
  for (const name of ["state", "iss", "code", "error"]) {
    if (parameters.getAll(name).length > 1)
      throw failed(`the response to the sign-in has ${name} twice, and was not used.`);
  }
  if (!isStateOf(expected, parameters)) {
    throw failed(`the response belongs to another sign-in (its state differs), and was not used.`);
  }
  const issuer = parameters.get("iss");
  if (issuer === null ? expected.sendsIssuer : issuer !== expected.issuer) {
    const what =
      issuer === null ? "does not say who gave it" : `was given by ${JSON.stringify(peerText(context, issuer))}`;
    throw failed(
      `the response to the sign-in ${what}, and ${JSON.stringify(expected.issuer)} was asked. It was not used: a server may be passing itself off as another.`,
      "Report this to the operator of the server.",
    );
  }
  const error = parameters.get("error");
  if (error !== null) {
    const words = [error, parameters.get("error_description")].filter((part) => part !== null);
    const said = words.map((part) => peerText(context, part)).join(": ");
    const parts = { problem: `the sign-in was refused: "${said}".`, advice: adviceOf(error) };
    throw oauthFailure(context, "SIGN_IN_FAILED", parts, { details: { said } });
  }
  if (code === null || code === "") throw failed("the response to the sign-in carries neither a code nor an error.");
  return code;
}

/** Whether a response belongs to the attempt. */
export function isStateOf({ state }: Pick<Expected, "state">, parameters: URLSearchParams): boolean {
  return parameters.get("state") === state;
}

function adviceOf(error: string): string {
  switch (error) {
    case "access_denied":
      return "Sign in again and allow it, or ask an administrator whether this client needs approval.";
    case "invalid_scope":
      return "The permissions that were asked for are not known there: set them in the configuration.";
    case "unauthorized_client":
      return "The client has to be approved by an administrator, or registered again.";
    case "server_error":
    case "temporarily_unavailable":
      return "Try again later.";
    default:
      return "Sign in again.";
  }
}
