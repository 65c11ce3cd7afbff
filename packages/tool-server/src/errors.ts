import type { Cause } from "./causes/cause-table.js";
import type { RefusalEvidence } from "./causes/refusal-evidence.js";
import type { ProcessExit } from "./process/process-outcome.js";

/** Every way in which this package fails. `docs/errors.md` explains each code and what to do about it. */
export type ToolServerErrorCode =
  /** The configuration file cannot be read: it is missing, not readable, too large, or not UTF-8. */
  | "CONFIGURATION_UNREADABLE"
  /** A variable that an entry refers to is unset, or its value is invalid where it is used. */
  | "VARIABLE_UNUSABLE"
  /** A header of a credential cannot be sent: its name or its value is invalid. */
  | "CREDENTIAL_UNUSABLE"
  /** Two parts of a credential claim the same header. */
  | "CREDENTIAL_CONFLICT"
  /** The credential was disposed of. */
  | "CREDENTIAL_CLOSED"
  /** The helper cannot be started: it is missing, or not executable. */
  | "HELPER_NOT_RUNNABLE"
  /** The helper ended with a code other than 0, or by a signal. */
  | "HELPER_FAILED"
  /** The helper did not end in time. */
  | "HELPER_TIMEOUT"
  /** The output of the helper is not one JSON object of headers. */
  | "HELPER_OUTPUT_INVALID"
  /** The configuration has no server of this name. */
  | "SERVER_UNKNOWN"
  /** The entry of a server has errors, so it is not used. */
  | "ENTRY_INVALID"
  /** The file turns the server off. */
  | "SERVER_DISABLED"
  /** The entry does not offer the tool. */
  | "TOOL_EXCLUDED"
  /** The entry was not approved, was changed since, or is forbidden by a policy. */
  | "NOT_TRUSTED"
  /** The approvals file cannot be read, or is invalid. */
  | "APPROVALS_UNREADABLE"
  /** The policy cannot be read, is invalid, or is writable by other users. */
  | "POLICY_UNREADABLE"
  /** An entry of the vault cannot be read or written. */
  | "VAULT_UNREADABLE"
  /** An entry of the vault was locked for too long, or its lock was lost. */
  | "VAULT_LOCKED"
  /** The key of the vault is missing or wrong. */
  | "VAULT_KEY_WRONG"
  /** No keychain is available. */
  | "KEYCHAIN_UNAVAILABLE"
  /** A user has to sign in. */
  | "SIGN_IN_NEEDED"
  /** The sign-in ended without a token. */
  | "SIGN_IN_FAILED"
  /** The metadata of an authorization server is wrong, incomplete or unsafe. */
  | "AUTHORIZATION_SERVER_INVALID"
  /** The authorization server issued no token. */
  | "TOKEN_REFUSED"
  /** The authorization server did not register this client. */
  | "REGISTRATION_REFUSED"
  /** The server names a different authorization server than before. */
  | "ISSUER_CHANGED"
  /** The sign-in page has another origin than the authorization server, and the user has not confirmed that. */
  | "AUTHORIZATION_ORIGIN_UNCONFIRMED"
  /** The server, or the proxy in front of it, cannot be reached: name, port, TLS. */
  | "SERVER_UNREACHABLE"
  /** The server returned 401: it requires a credential, or does not accept the one it was sent. */
  | "UNAUTHORIZED"
  /** The server returned 403: it knows the caller, and does not allow the request. */
  | "FORBIDDEN"
  /** The server returned another failing status. */
  | "SERVER_FAILED"
  /** The server at the URL or command does not speak the protocol. */
  | "NOT_A_TOOL_SERVER"
  /** The server redirects the request to another origin, which must not get its headers. */
  | "REDIRECT_REFUSED"
  /** A message is larger than the limit. */
  | "MESSAGE_TOO_LARGE"
  /** The server does not know the session any more. */
  | "SESSION_LOST"
  /** The connection ended while the call was in flight. */
  | "CONNECTION_LOST"
  /** The connection was closed on this side. */
  | "CONNECTION_CLOSED"
  /** The process of a stdio server cannot be started. */
  | "CHILD_NOT_RUNNABLE"
  /** The process of a stdio server ended. */
  | "CHILD_EXITED"
  /** The request was not sent, because too much waits for the server already. */
  | "SERVER_BUSY"
  /** The call timed out. */
  | "CALL_TIMEOUT"
  /** The caller cancelled the call. */
  | "CALL_CANCELLED"
  /** The server returned a protocol error, or does not support the request. */
  | "CALL_REFUSED"
  /** The server's response to a call is not valid in the protocol. */
  | "RESPONSE_INVALID";

/** Details of a failure in addition to its message. Contains no secret. */
export interface ToolServerErrorDetails {
  /** The HTTP status. */
  readonly status?: number | undefined;
  /** Whether the request may have reached the server; if false, sending it again is safe. */
  readonly wasSent?: boolean | undefined;
  /** The possible causes of a 401 or 403, the likeliest first. `why` uses the same table of causes. */
  readonly causes?: readonly Cause[] | undefined;
  /** What is known about a 401 or 403. */
  readonly refusal?: RefusalEvidence | undefined;
  /** How far a connection had come when it failed. */
  readonly connecting?: ConnectingDetails | undefined;
  /** The variable whose value cannot be used. */
  readonly variable?: string | undefined;
  /** The message of the server or the authorization server, as it was shown: redacted and truncated. */
  readonly said?: string | undefined;
  /** The authorization server that refused a sign-in. */
  readonly issuer?: string | undefined;
  /** The JSON-RPC error code and data. */
  readonly rpcCode?: number | undefined;
  readonly rpcData?: unknown;
  /** The exit of a child process and the last lines of its standard error. */
  readonly exit?: ProcessExit | undefined;
  readonly stderr?: readonly string[] | undefined;
  /** Equal for failures that differ only in details such as a process id. Default: the message. */
  readonly repeatKey?: string | undefined;
  /** The variables that are not set. */
  readonly unsetVariables?: readonly string[] | undefined;
  /** The authorization server that was used before, and the one that the server names now. */
  readonly issuerChange?: { readonly from: string; readonly to: string } | undefined;
  /** Set if the advice is to sign in: with these scopes in addition to the usual ones. */
  readonly signIn?: { readonly scopes: readonly string[] } | undefined;
  /** The authorization server, the other origin of its sign-in page, and that of its token endpoint, if it is not its own. */
  readonly foreignOrigin?:
    | { readonly issuer: string; readonly origin: string; readonly tokenOrigin?: string | undefined }
    | undefined;
}

/** How far a connection had come when it failed. */
export interface ConnectingDetails {
  readonly stage: "reaching" | "asking-proxy" | "securing";
  /** Whether the failing step concerned the proxy and not the server. */
  readonly isProxyItself: boolean;
  /** The HTTP status that the proxy responded with. */
  readonly proxyStatus?: number | undefined;
  /** Whether the server asked for a client certificate, or rejected the one it was given. */
  readonly needsClientCertificate?: boolean | undefined;
}

/** The parts of an error's message, each of complete sentences. */
export interface ErrorParts {
  /** What failed: `The server "files" cannot be used.`, or `The server "files":` before the problem. Omitted if the problem says it. */
  readonly subject?: string | undefined;
  /** Why. */
  readonly problem: string;
  /** What was observed; omitted in short reports. */
  readonly evidence?: string | undefined;
  /** What to do next; empty if nothing helps. */
  readonly advice: string;
}

/**
 * The only error class of this package: test `code`, show `message` or its parts, and inspect `cause`. The message is `subject`,
 * `problem`, `evidence` and `advice` in this order; none of them contains a secret.
 */
export class ToolServerError extends Error {
  override readonly name = "ToolServerError";
  readonly code: ToolServerErrorCode;
  /** What failed; empty if the problem says it. */
  readonly subject: string;
  /** Why. */
  readonly problem: string;
  /** What was observed; often empty. */
  readonly evidence: string;
  /** What to do next; empty if the problem says it, or if nothing helps. */
  readonly advice: string;
  readonly details: ToolServerErrorDetails;

  constructor(
    code: ToolServerErrorCode,
    { subject = "", problem, evidence = "", advice }: ErrorParts,
    options: ErrorOptions & { readonly details?: ToolServerErrorDetails } = {},
  ) {
    super([subject, problem, evidence, advice].filter((part) => part !== "").join(" "), options);
    this.code = code;
    this.subject = subject;
    this.problem = problem;
    this.evidence = evidence;
    this.advice = advice;
    this.details = options.details ?? {};
  }

  /** Whether `value` is a ToolServerError, with this code if one is given; also across copies of this package. */
  static is(value: unknown, code?: ToolServerErrorCode): value is ToolServerError {
    return (
      value instanceof Error &&
      value.name === "ToolServerError" &&
      "code" in value &&
      (code === undefined || value.code === code)
    );
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What failed and why, without the advice: for an error that wraps this one and has its own advice. */
export function describeProblem({ subject = "", ...reason }: Omit<ErrorParts, "advice">): string {
  return [subject, describeReason(reason)].filter((part) => part !== "").join(" ");
}

/** Why it failed: for an error that wraps this one and names the same subject. */
export function describeReason({ problem, evidence = "" }: Pick<ErrorParts, "problem" | "evidence">): string {
  return [problem, evidence].filter((part) => part !== "").join(" ");
}

/** The parts of an error, with more advice. It comes first: the advice may end with a command, which no sentence may follow. */
export function withAdvice({ subject, problem, evidence, advice }: ErrorParts, more: string): ErrorParts {
  return { subject, problem, evidence, advice: advice === "" ? more : `${more} ${advice}` };
}
