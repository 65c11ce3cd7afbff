import { literalOf, variablesOf } from "../substitution/template.js";
import type { NamedField } from "./entry.js";
import { quoteName, type Report } from "./finding.js";

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

/** Holds the headers of an entry against the rules of HTTP and of Authorization. */
export function judgeHeaders(headers: readonly NamedField[], report: Report): void {
  const seen = new Map<string, NamedField>();
  for (const field of headers) {
    const name = field.name.toLowerCase();
    if (!isHeaderName(field.name)) {
      report(
        "header-name",
        "error",
        field,
        `${quoteName(field.name)} is no name of a header.`,
        "Use letters, digits and hyphens, without spaces or a colon.",
      );
    } else if (reserved.has(name) || name.startsWith("sec-websocket-")) {
      report("header-reserved", "error", field, `${field.name} is set by the connection itself.`, "Take it away.");
    }
    const first = seen.get(name);
    if (first !== undefined) {
      const message = `${field.name} is the same header as ${first.name} in line ${first.line}.`;
      report("header-duplicate", "error", field, message, "Keep one of the two.");
    }
    seen.set(name, field);
    const fallbacks = variablesOf(field.template).map(({ fallback = "" }) => fallback);
    if (!isHeaderValue([literalOf(field.template), ...fallbacks].join(""))) {
      report(
        "header-value",
        "error",
        field,
        `The value of ${field.name} holds a line break or another character that no header can have.`,
        "Write it in one line of printable characters.",
      );
    }
    if (name === "authorization") judgeAuthorization(field, report);
  }
}

/** Whether a name is a token of HTTP (RFC 9110, section 5.1). */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
}

/** Whether a value can be sent in a header: no control character but the tab, nothing beyond Latin-1. */
export function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}

function judgeAuthorization(field: NamedField, report: Report): void {
  const { text } = field.template;
  if (/^(?:Bearer|Basic) \S/.test(text)) return;
  const variable = variablesOf(field.template)[0]?.name;
  const reference = `\${${variable ?? "API_TOKEN"}}`;
  const [, scheme, gap, rest] = /^\s*(bearer|basic)(\s*)(.*)$/is.exec(text) ?? [];
  if (scheme === undefined) {
    report(
      "authorization-scheme",
      "error",
      field,
      "Authorization starts with neither Bearer nor Basic; a bare token is refused.",
      `Write "Bearer ${reference}", or "Basic ${reference}" where it is the base64 of user:password.`,
    );
    return;
  }
  const proper = scheme.toLowerCase() === "basic" ? "Basic" : "Bearer";
  const message =
    rest === ""
      ? `Nothing follows ${proper}.`
      : gap !== " "
        ? `${proper} must be followed by one space, and stand first.`
        : `The scheme is written ${proper}.`;
  const isOnlyCase = rest !== "" && gap === " " && text.startsWith(scheme);
  report("authorization-scheme", isOnlyCase ? "warning" : "error", field, message, `Write "${proper} ${reference}".`);
}
