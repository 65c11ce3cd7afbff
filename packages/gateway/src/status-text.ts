import type { ToolServerErrorCode } from "@wirescope/tool-server";

// Descriptions of server states, shared by the terminal and the page.

/** Why a server cannot be used, as far as its status needs it. */
export interface StatusFailure {
  readonly code: string | undefined;
  readonly details?: { readonly unsetVariables?: readonly string[] | undefined } | undefined;
}

const states: Readonly<Record<string, string>> = {
  IDLE: "not connected",
  CONNECTING: "connecting",
  READY: "connected",
  TRANSIENT_FAILURE: "failed",
  SHUTDOWN: "closed",
};

const reasons: Readonly<Partial<Record<ToolServerErrorCode, string>>> = {
  CHILD_EXITED: "program ended",
  CHILD_NOT_RUNNABLE: "program not found",
  CALL_TIMEOUT: "no response",
  CONNECTION_LOST: "connection lost",
  CREDENTIAL_CONFLICT: "headers conflict",
  CREDENTIAL_UNUSABLE: "credential invalid",
  ENTRY_INVALID: "entry invalid",
  FORBIDDEN: "permission missing",
  HELPER_FAILED: "helper failed",
  HELPER_NOT_RUNNABLE: "helper failed",
  HELPER_OUTPUT_INVALID: "helper failed",
  HELPER_TIMEOUT: "helper failed",
  ISSUER_CHANGED: "issuer changed",
  KEYCHAIN_UNAVAILABLE: "vault unusable",
  NOT_A_TOOL_SERVER: "not an MCP server",
  NOT_TRUSTED: "not approved",
  SERVER_BUSY: "overloaded",
  SERVER_UNREACHABLE: "not reachable",
  SIGN_IN_FAILED: "not signed in",
  SIGN_IN_NEEDED: "not signed in",
  TOKEN_REFUSED: "not signed in",
  UNAUTHORIZED: "credential refused",
  VARIABLE_UNUSABLE: "variable not usable",
  VAULT_KEY_WRONG: "vault unusable",
  VAULT_LOCKED: "vault unusable",
  VAULT_UNREADABLE: "vault unusable",
};

/** The readable name of a connection state. */
export function stateText(state: string): string {
  return states[state] ?? state;
}

/** Why a server cannot be used, in two or three words. */
export function reasonText({ code, details }: StatusFailure): string {
  const { unsetVariables = [] } = details ?? {};
  if (unsetVariables.length > 0) return `not set: ${unsetVariables.join(", ")}`;
  return reasons[code as ToolServerErrorCode] ?? "failed";
}

/** The failures of a server that requires a sign-in. */
const signInCodes: ReadonlySet<string | undefined> = new Set<ToolServerErrorCode>([
  "SIGN_IN_NEEDED",
  "SIGN_IN_FAILED",
  "TOKEN_REFUSED",
  "REGISTRATION_REFUSED",
  "ISSUER_CHANGED",
  "AUTHORIZATION_SERVER_INVALID",
  "AUTHORIZATION_ORIGIN_UNCONFIRMED",
]);

/**
 * How a server authenticates. If nobody is signed in: `none` for a connected server, because it required no sign-in, and `-` for one that
 * has not requested a sign-in.
 */
export function authText(
  { state, failure }: { readonly state: string; readonly failure?: Pick<StatusFailure, "code"> | undefined },
  summary: string | undefined,
  isSignedIn: boolean | undefined,
): string {
  if (isSignedIn !== false) return summary ?? "-";
  if (state === "READY") return "none";
  return signInCodes.has(failure?.code) ? (summary ?? "-") : "-";
}

/** The status of a server in two or three words: connected, or why it does not work. */
export function statusText(state: string, failure: StatusFailure | undefined): string {
  if (state === "READY" && failure !== undefined) return "tools unavailable";
  const isFailing = failure !== undefined && (state === "TRANSIENT_FAILURE" || state === "IDLE");
  return isFailing ? reasonText(failure) : stateText(state);
}
