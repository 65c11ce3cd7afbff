import { notSecretVariable, renderParts, type Template } from "./template.js";

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

/** Whether a name is an HTTP token (RFC 9110, section 5.1). */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
}

/** Whether a value can be sent in a header: only Latin-1, and no control character except the tab. */
export function isHeaderValue(value: string): boolean {
  return !unsendable.test(value);
}

/** Whether the connection itself sets this header, so that nothing else may. */
export function isReservedHeader(name: string): boolean {
  const key = name.toLowerCase();
  return reserved.has(key) || key.startsWith("sec-websocket-");
}

const unsendable = /[^\t\x20-\x7e\x80-\xff]/;
const maxNameLength = 256;
const maxValueLength = 16 * 1024;

/** Why a string is not usable as a header name, as the rest of a sentence; undefined if it is. */
export function headerNameDefect(name: string): string | undefined {
  if (name === "") return "is empty";
  if (name.length > maxNameLength) return `has more than ${maxNameLength} characters`;
  if (!isHeaderName(name)) return "contains a character that is not allowed in header names";
  if (isReservedHeader(name)) return "is set by the connection itself";
  return undefined;
}

/** Why a value cannot be sent in a header, as the rest of a sentence; undefined if it can. Never quotes the value. */
export function headerValueDefect(value: string): string | undefined {
  if (value === "") return "is empty";
  if (value.length > maxValueLength) return `has more than ${maxValueLength} characters`;
  const at = value.search(unsendable);
  if (at !== -1) return `contains ${describeCharacter(value.charAt(at))} at position ${at + 1}`;
  if (value !== value.trim()) return "has leading or trailing white space";
  if (value.includes("${")) return "contains a variable reference that was not replaced";
  return undefined;
}

/** Why a value cannot be sent, whatever its variables are; undefined if that depends on them. */
export function writtenValueDefect(template: Template): string | undefined {
  // Reported as such.
  if (template.malformed.length > 0) return undefined;
  return headerValueDefect(
    renderParts(template, ({ name, fallback }) => (name === notSecretVariable ? (fallback ?? "x") : "x")),
  );
}

function describeCharacter(character: string): string {
  if (character === "\n" || character === "\r") return "a line break";
  if (character === "\0") return "a NUL character";
  return character < " " || character === "\x7f" ? "a control character" : "a character beyond Latin-1";
}

/** The parts of an Authorization header value. */
export interface Authorization {
  /** The scheme, if it is a known one; an unknown word may be the token itself. */
  readonly scheme: string | undefined;
  /** What follows the scheme, or the whole value. */
  readonly credentials: string;
}

/** The known schemes, matched without regard to case. */
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

export function parseAuthorization(value: string): Authorization {
  const [, word = "", rest = ""] = /^(\S+)(?:\s+(.*))?$/s.exec(value.trim()) ?? [];
  const scheme = authorizationSchemes.find((known) => known.toLowerCase() === word.toLowerCase());
  return scheme === undefined ? { scheme, credentials: value.trim() } : { scheme, credentials: rest.trim() };
}

/** The user and password of Basic credentials; undefined if they are not the base64 of `user:password`. */
export function parseBasic(credentials: string): { readonly user: string; readonly password: string } | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(credentials)) return undefined;
  const text = Buffer.from(credentials, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon === -1 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Whether the value of this header has the form of scheme and credentials. */
export function isAuthorizationName(name: string): boolean {
  return /^(proxy-)?authorization$/i.test(name);
}

/** Encodes a string for a header: unchanged if that is safe, otherwise as marked base64. */
export function encodeHeaderText(text: string): string {
  const isSafe = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/s.test(text);
  return isSafe ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

/** Decodes a header value that may be marked base64; undefined if the encoding is invalid. */
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
