/**
 * What text of a peer can state. Each is a sentence of a tool server (the error_description of a challenge, a JSON-RPC error, the
 * body of a refusal), of an authorization server, or of a child process on standard error.
 */
export type Statement =
  | "approval-needed"
  | "tenant-wrong"
  | "token-expired"
  | "scope-missing"
  | "audience-wrong"
  | "version-unsupported"
  | "credential-rejected"
  | "sign-in-asked"
  | "client-unknown"
  | "client-document"
  | "redirect-wrong"
  | "variable-missing"
  | "network-trouble"
  | "tls-intercepted";

/**
 * The only table that interprets text of tool servers, authorization servers and child processes. Neither HTTP, JSON-RPC nor OAuth has
 * a field for these: a challenge has three error codes (RFC 6750), `access_denied` is the code of every refusal of a user or an
 * administrator, an error of an authorization endpoint about the client is a page for the user (RFC 6749, 4.1.2.1), and standard error
 * is lines for people. Where a peer sends a code, the code is tested instead.
 */
const patterns: Readonly<Record<Statement, RegExp>> = {
  /** An administrator must approve something first; the AADSTS codes are those of Microsoft Entra. */
  "approval-needed":
    /\badmin(istrator)?s?\b.{0,60}\b(approv|consent|allow|grant|enabl|permit)|\b(approv|consent)\w*\b.{0,40}\b(requir|need|pending|missing|await)|\b(need|require|await|pending)\w*\b.{0,30}\b(approv|consent)|not (been |yet )*(approved|installed|enabled)\b.{0,40}|\bAADSTS(65001|65004|90094|900941|650052)\b/i,
  /** The tenant or workspace is wrong. */
  "tenant-wrong":
    /\b(tenant|workspace|organi[sz]ation|account|project|team)\b.{0,60}\b(not found|unknown|invalid|mismatch|not (a |an )?member|no access|does not|doesn't|denied|wrong|belong|disabled|required|missing)|\b(unknown|invalid|wrong|missing|no such|not (a |an )?member of( th(e|is))?) (tenant|workspace|organi[sz]ation|account|project|team)\b|\bAADSTS(50020|90002|500011|50194|700016)\b/i,
  "token-expired": /\bexpir(ed|y)\b/i,
  "scope-missing":
    /insufficient[_ ](scope|permission|privilege)s?|\b(scope|permission|privilege)s?\b.{0,40}\b(missing|required|insufficient|lack|needed)|\b(missing|required|insufficient|lacks?)\b.{0,40}\b(scope|permission|privilege)s?\b/i,
  "audience-wrong": /\baudience\b|\b(invalid|wrong|bad) aud\b|\baud\b.{0,20}\b(invalid|mismatch|claim)/i,
  /** The protocol version is not supported. Servers use several JSON-RPC codes for it. */
  "version-unsupported": /protocol version|version.{0,30}(not supported|unsupported)/i,
  /** The server rejects a credential, in a protocol error or in its own message. */
  "credential-rejected":
    /unauthori[sz]ed|not authenticated|authentication (failed|required|error)|(invalid|missing|wrong|bad) (api |access |auth )?(token|key|credential|password)/i,
  /** The text of a page asks for a sign-in. Whole words only: "sso" is also in lessons and associates. */
  "sign-in-asked": /\b(?:sign|log)(?:g?ing)?[ -]?in\b|\bsso\b|\bauthenticat/i,
  /** An authorization server does not know the client. An id, often a UUID, may be part of the sentence. */
  "client-unknown":
    /(?:invalid|unauthorized|unknown|unrecogni[sz]ed|unregistered)[_ ](?:client|application)|(?:client|application)[^.,]{0,100}(?:not (?:be )?found|does not exist|not registered|unknown|invalid|not recogni[sz]ed|disabled)/i,
  /** An authorization server cannot read the metadata document of the client. */
  "client-document": /client[^.]{0,20}metadata/i,
  "redirect-wrong": /redirect[_ ]?ur[il]/i,
  /** A process says that something is not set; which variable, only its name shows. */
  "variable-missing":
    /\b(required|missing|not set|unset|must be set|undefined|not defined|not found|please set|set the|provide)\b/i,
  /** A process has trouble with the network, as package runners report it. */
  "network-trouble":
    /\b(?:ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET|40[137]|proxy|certificate|network|timed? ?out)\b/i,
  /** The issuer of a certificate is a product that intercepts TLS. */
  "tls-intercepted":
    /zscaler|netskope|palo ?alto|fortinet|fortigate|blue ?coat|sophos|cisco umbrella|kaspersky|mitmproxy|charles proxy|burp/i,
};

/** How much is searched, in characters. */
const maxSearched = 65_536;

/**
 * Whether text of a peer states something, in its first 65,536 characters. A hint, not a fact: it chooses an explanation or an advice, and
 * never what is sent, except that an authorization server's page about an unknown client causes a new registration.
 */
export function states(text: string, statement: Statement): boolean {
  return patterns[statement].test(text.slice(0, maxSearched));
}

/**
 * The header that a challenge or a sentence names for a key, such as X-API-Key; undefined if it also names Authorization. No scheme
 * and no status code has a field for it.
 */
export function keyHeaderIn(text: string): string | undefined {
  const searched = text.slice(0, maxSearched);
  if (/\bauthorization["'`]?(?::| header)|\bbearer\b/i.test(searched)) return undefined;
  const names = searched.match(
    /\bX(?:-[a-z0-9]{1,32}){1,5}\b|\b[a-z0-9]{1,32}(?:-[a-z0-9]{1,32}){1,5}(?=["'`]? header\b)|(?<=\bheader[:=]? ?["'`]?)[a-z0-9]{1,32}(?:-[a-z0-9]{1,32}){1,5}/gi,
  );
  return names?.find(
    (name) => /\b(?:(?:api)?key|token|secret|auth)\b/i.test(name) && !/[cx]srf|idempotency/i.test(name),
  );
}

/** The names that are written like environment variables, but not codes such as ERR_MODULE_NOT_FOUND. */
export function variableNamesIn(text: string): string[] {
  const names = text.slice(0, maxSearched).match(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/g) ?? [];
  return names.filter((name) => !/^(ERR|E)_/.test(name));
}
