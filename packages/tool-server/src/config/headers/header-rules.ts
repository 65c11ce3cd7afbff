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
  if (at !== -1) return `has ${nameOf(value.charAt(at))} at position ${at + 1}`;
  if (value !== value.trim()) return "has white space at its start or end";
  if (value.includes("${")) return "holds a reference to a variable that was not put in";
  return undefined;
}

function nameOf(character: string): string {
  if (character === "\n" || character === "\r") return "a line break";
  if (character === "\0") return "a NUL character";
  return character < " " || character === "\x7f" ? "a control character" : "a character beyond Latin-1";
}
