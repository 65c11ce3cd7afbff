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

const longestName = 256;
const longestValue = 16 * 1024;

/** What keeps a name from being that of a header, as a clause that follows it; undefined where nothing does. */
export function headerNameDefect(name: string): string | undefined {
  if (name === "") return "is empty";
  if (name.length > longestName) return `has more than ${longestName} characters`;
  // A token of HTTP: RFC 9110, section 5.1.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return "has a character that no name of a header can have";
  const key = name.toLowerCase();
  if (reserved.has(key) || key.startsWith("sec-websocket-")) return "is set by the connection itself";
  return undefined;
}

/** What keeps a value from being sent in a header, as a clause that follows its name; undefined where nothing does. Quotes nothing. */
export function headerValueDefect(value: string): string | undefined {
  if (value === "") return "is empty";
  if (value.length > longestValue) return `has more than ${longestValue} characters`;
  const at = value.search(/[^\t\x20-\x7e\x80-\xff]/);
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
