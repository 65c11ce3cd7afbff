/** Every known cause of a server that does not work, by its code. `docs/why.md` explains each. */
export const causeTable = {
  "entry-invalid": "The entry has an error, so it is not used.",
  "entry-disabled": "The entry is disabled.",
  "variable-unset": "A variable that the entry uses is not set.",
  "variable-empty": "A variable that the entry uses is empty.",
  "variable-white-space": "The value of a variable contains white space or invisible characters.",
  "variable-placeholder": "A value is still the placeholder of an example.",
  "variable-unusable": "The value of a variable is not allowed in its field.",
  "not-approved": "The entry is not approved yet.",
  "changed-since-approval": "The entry, or a file that it runs, has changed since it was approved.",
  "denied-by-policy": "A policy denies the entry.",
  "trust-unreadable": "The approvals or the policy cannot be read.",
  "helper-missing": "The helper script does not exist.",
  "helper-not-executable": "The helper script cannot be run.",
  "helper-failed": "The helper script failed.",
  "helper-timeout": "The helper script timed out.",
  "helper-output-invalid": "The helper script did not print one JSON object of headers.",
  "settings-unusable": "The CA certificates or the headers of the entry are invalid.",
  "proxy-unusable": "The proxy variable does not contain the URL of a proxy.",
  "proxy-unreachable": "The proxy cannot be reached.",
  "proxy-credentials": "The proxy requires a user name and a password.",
  "proxy-refuses": "The proxy refuses to connect to the server.",
  "name-unknown": "The host name cannot be resolved.",
  "connection-refused": "Nothing listens on the host and port.",
  "connection-timeout": "The host does not respond or cannot be reached.",
  "connection-cut": "The connection was closed before a response arrived.",
  "certificate-expired": "The certificate of the server has expired.",
  "certificate-not-yet-valid": "The certificate of the server is not valid yet.",
  "certificate-self-signed": "The certificate of the server is self-signed.",
  "certificate-untrusted": "The certificate of the server is signed by an untrusted CA.",
  "certificate-host-mismatch": "The certificate of the server is for another host.",
  "client-certificate-required": "The server requires a client certificate.",
  "not-tls": "The server on this port does not use TLS.",
  "tls-failed": "The TLS handshake failed.",
  redirected: "The server redirects to another origin.",
  "not-found": "There is nothing at the path of the url.",
  "method-refused": "The server at the url rejects the requests of this type.",
  "html-page": "The url returns a web page, not a tool server's response.",
  "content-type-wrong": "A tool server does not respond with this content type.",
  "not-the-protocol": "The response is not a protocol message.",
  "server-failing": "The server failed with an internal error.",
  "rate-limited": "The server limits the rate of requests.",
  "no-response": "The server accepts the connection, but does not respond.",
  "wrong-path": "The server is at another path.",
  "wrong-type": "The server has another type.",
  "version-unsupported": "The server supports no protocol version that is known here.",
  "response-invalid": "The server's responses violate the protocol.",
  "credential-missing": "The server requires a credential, but the entry has none.",
  "scheme-missing": "Authorization lacks a scheme, such as Bearer.",
  "scheme-doubled": "Authorization contains its scheme twice.",
  "scheme-differs": "The server requires another Authorization scheme.",
  "wrong-header": "The token is in another header than the server requires.",
  "credentials-malformed": "Authorization does not have the format of its scheme.",
  "token-expired": "The token has expired.",
  "token-not-yet-valid": "The token is not valid yet.",
  "clock-skew": "The local clock and the server's clock differ.",
  "wrong-audience": "The token was issued for another service.",
  "scope-missing": "The token lacks a permission that the server requires.",
  "wrong-tenant": "The credential belongs to another tenant or workspace.",
  "approval-needed": "An administrator must approve it.",
  "permission-missing": "The server does not allow the request.",
  "token-refused": "The server rejects the credential.",
  "oauth-offered": "The server supports OAuth.",
  "sign-in-needed": "Sign-in required.",
  "sign-in-loop": "The server rejects tokens that were just issued.",
  "sign-in-failed": "The sign-in failed.",
  "refresh-token-dead": "The refresh token is no longer valid.",
  "refresh-failing": "The token cannot be refreshed at the moment.",
  "vault-unreadable": "The stored tokens cannot be read.",
  "metadata-missing": "The authorization server publishes no metadata.",
  "metadata-unreachable": "The authorization server cannot be reached.",
  "metadata-invalid": "The metadata of the authorization server is invalid.",
  "resource-mismatch": "The resource metadata describes another server.",
  "issuer-mismatch": "The metadata names another issuer than the requested one.",
  "issuer-changed": "The server names another authorization server than before.",
  "pkce-missing": "The authorization server does not support PKCE with S256.",
  "endpoint-unsafe": "An endpoint of the authorization server is not safe to use.",
  "resource-rejected": "The authorization server rejects the resource parameter.",
  "scope-unknown": "The authorization server does not know a requested scope.",
  "audience-unknown": "The authorization server does not know the requested audience.",
  "registration-refused": "The authorization server does not register this client.",
  "client-dead": "The authorization server no longer knows the registered client.",
  "redirect-mismatch": "The redirect URI is not the registered one.",
  "command-not-found": "The command was not found.",
  "command-not-executable": "The command cannot be run.",
  "child-exits": "The process exits before it responds.",
  "child-lacks-variable": "The process requires a variable that the entry does not pass on.",
  "child-logs-to-stdout": "The process writes text other than messages to standard output.",
  "child-silent": "The process runs, but never responds.",
  "tools-invalid": "Some tools are invalid.",
  unknown: "None of the known causes applies.",
} as const;

/** The code of a cause. */
export type CauseCode = keyof typeof causeTable;

/** How to fix a cause: with a command, with a change to the configuration, or as the advice says. Contains no secret. */
export interface Fix {
  /** What to do, in a sentence or two. */
  readonly advice: string;
  /** A shell command; `…` is a value that only the user knows. */
  readonly command?: string | undefined;
  /** The position in the configuration file. */
  readonly position?: { readonly file: string; readonly line: number; readonly column: number } | undefined;
  /** What to write at that position. */
  readonly write?: string | undefined;
  /** The variable to set. How to set it depends on the process that reads it; see `ExplainOptions.setVariable`. */
  readonly variable?: string | undefined;
}

/** One possible cause of a failure. Contains no secret. */
export interface Cause {
  readonly code: CauseCode;
  /** How likely this is the cause, from 0 to 1. From 0.9 on it counts as found: it was observed and explains the failure. */
  readonly weight: number;
  /** What is wrong, in a sentence or two. */
  readonly problem: string;
  /** What was observed, one sentence each. */
  readonly evidence: readonly string[];
  readonly fix: Fix;
}

/** The weight from which a cause counts as found. */
export const foundWeight = 0.9;

/** The causes with the likeliest first. Each cause is listed once, with the evidence of everything that points to it. */
export function rankCauses(causes: readonly Cause[]): Cause[] {
  const byKey = new Map<string, Cause>();
  for (const cause of causes) {
    const key = keyOf(cause);
    const known = byKey.get(key);
    const [first, second] = known === undefined || known.weight < cause.weight ? [cause, known] : [known, cause];
    byKey.set(key, { ...first, evidence: [...new Set([...first.evidence, ...(second?.evidence ?? [])])] });
  }
  // The sort is stable: causes of equal weight keep their order.
  return [...byKey.values()].sort((a, b) => b.weight - a.weight);
}

/** Several variables may be unset, and each has its own fix. */
function keyOf({ code, fix, problem }: Cause): string {
  const isRepeatable = code.startsWith("variable-") || code === "entry-invalid" || code === "child-lacks-variable";
  return isRepeatable ? `${code} ${fix.command ?? problem}` : code;
}
