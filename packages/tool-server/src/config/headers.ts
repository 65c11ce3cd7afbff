const reserved = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Whether a name is a token of HTTP (RFC 9110, section 5.1). */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
}

/** Whether a value can be sent in a header: no control character but the tab, nothing beyond Latin-1. */
export function isHeaderValue(value: string): boolean {
  return !unsendable.test(value);
}

/** Whether the connection itself sets a header, so that nobody else may. */
export function isReservedHeader(name: string): boolean {
  const key = name.toLowerCase();
  return reserved.has(key) || key.startsWith("sec-websocket-");
}

const unsendable = /[^\t\x20-\x7e\x80-\xff]/;
const longestName = 256;
const longestValue = 16 * 1024;

/** What keeps a name from being that of a header, as a clause that follows it; undefined where nothing does. */
export function headerNameDefect(name: string): string | undefined {
  if (name === "") return "is empty";
  if (name.length > longestName) return `has more than ${longestName} characters`;
  if (!isHeaderName(name)) return "has a character that no name of a header can have";
  if (isReservedHeader(name)) return "is set by the connection itself";
  return undefined;
}

/** What keeps a value from being sent in a header, as a clause that follows its name; undefined where nothing does. Quotes nothing. */
export function headerValueDefect(value: string): string | undefined {
  if (value === "") return "is empty";
  if (value.length > longestValue) return `has more than ${longestValue} characters`;
  const at = value.search(unsendable);
  if (at !== -1) return `has ${describeCharacter(value.charAt(at))} at position ${at + 1}`;
  if (value !== value.trim()) return "has white space at its start or end";
  if (value.includes("${")) return "holds a reference to a variable that was not put in";
  return undefined;
}

function describeCharacter(character: string): string {
  if (character === "\n" || character === "\r") return "a line break";
  if (character === "\0") return "a NUL character";
  return character < " " || character === "\x7f" ? "a control character" : "a character beyond Latin-1";
}

/** What the value of an Authorization header is made of. */
export interface Authorization {
  /** The scheme, where it is one that is known; a word that is not known may be the token itself. */
  readonly scheme: string | undefined;
  /** What follows the scheme, or all of it. */
  readonly credentials: string;
}

/** The schemes that are recognized in any letter case. */
export const authorizationSchemes: readonly string[] = [
  "Bearer",
  "Basic",
  "Digest",
  "DPoP",
  "Negotiate",
  "Token",
  "ApiKey",
  "AWS4-HMAC-SHA256",
];

/** Takes the value of an Authorization header apart. */
export function parseAuthorization(value: string): Authorization {
  const [, word = "", rest = ""] = /^(\S+)(?:\s+(.*))?$/s.exec(value.trim()) ?? [];
  const scheme = authorizationSchemes.find((known) => known.toLowerCase() === word.toLowerCase());
  return scheme === undefined ? { scheme, credentials: value.trim() } : { scheme, credentials: rest.trim() };
}

/** The user and the password of Basic credentials; undefined where they are not the base64 of `user:password`. */
export function parseBasic(credentials: string): { readonly user: string; readonly password: string } | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(credentials)) return undefined;
  const text = Buffer.from(credentials, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon === -1 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Whether a header is one that the scheme-and-credentials form holds for. */
export function isAuthorizationName(name: string): boolean {
  return /^(proxy-)?authorization$/i.test(name);
}

/** Text as a header can hold it: as it stands where that is safe, else in base64 with a mark around it. */
export function encodeHeaderText(text: string): string {
  const isSafe = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/s.test(text);
  return isSafe ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

/** What a header says, where it may be wrapped because a header cannot hold it; undefined where the wrapping is broken. */
export function decodeHeaderText(text: string): string | undefined {
  const wrapped = /^=\?base64\?(.*)\?=$/s.exec(text)?.[1];
  if (wrapped === undefined) return text;
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(wrapped)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(wrapped, "base64"));
  } catch {
    return undefined;
  }
}
