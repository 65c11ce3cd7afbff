import type { CauseCode } from "./cause-table.js";

/** The cause of a well-known authorization server's error, and the OAuth setting to change. */
export interface ProviderHint {
  readonly code: CauseCode;
  readonly advice: string;
  /** What to write into the entry. */
  readonly write?: string | undefined;
}

interface HintRow extends ProviderHint {
  readonly pattern: RegExp;
  /** Only for issuers that match, if the text alone is ambiguous. */
  readonly issuer?: RegExp;
}

const oauth = "in the oauth settings of the server";

/**
 * By the error_description of OAuth, already redacted and cut to 200 characters: `error` has only the codes of the specification, and a
 * redirect with an error has no other field.
 */
const rows: readonly HintRow[] = [
  {
    pattern: /\bAADSTS(?:9010010|901002)\b/,
    code: "resource-rejected",
    // Any authorization server can send this code, also to get a token that is valid elsewhere.
    advice: `Set "resource": false ${oauth}, and sign in again. Name the API in scopes instead. The token may then be valid for other servers too, so do this only for a server that you trust.`,
    write: '"oauth": {"resource": false}',
  },
  {
    pattern: /\bAADSTS650053\b/,
    code: "scope-unknown",
    advice: `Set scopes ${oauth} to those of the API, each with its identifier, such as api://<application id>/<scope>, and sign in again.`,
    write: '"oauth": {"scopes": ["api://…/…"]}',
  },
  {
    pattern: /\bAADSTS(?:90094|900941)\b/,
    code: "approval-needed",
    advice: `If an administrator already consented for everybody, remove prompt ${oauth} and sign in again. Otherwise ask one to consent for this client.`,
  },
  {
    pattern: /\bAADSTS65001\b/,
    code: "approval-needed",
    advice: `Set "prompt": "consent" ${oauth} and sign in again to consent yourself, or ask an administrator to consent for everybody.`,
    write: '"oauth": {"prompt": "consent"}',
  },
  {
    pattern: /\bService not found\b/i,
    code: "audience-unknown",
    advice: `Set audience in authorizeParameters ${oauth} to the identifier of an API that exists in the tenant, and sign in again.`,
    write: '"oauth": {"authorizeParameters": {"audience": "…"}}',
  },
  {
    pattern: /\baccess_denied\b/,
    issuer: /^https:\/\/accounts\.google\.com\/?$/,
    code: "approval-needed",
    advice: `If Google says that the app is not verified, add your account to the test users of its project, or set clientId and clientSecret ${oauth} to those of a verified app. Then sign in again.`,
    write: '"oauth": {"clientId": "…", "clientSecret": "${…}"}',
  },
];

/** The hint for a message of an authorization server; undefined if it contains no known code. */
export function providerHint(said: string, issuer?: string | undefined): ProviderHint | undefined {
  return rows.find((row) => row.pattern.test(said) && (row.issuer?.test(issuer ?? "") ?? true));
}
