import { suggest } from "../suggest.js";
import type { NamedField } from "./entry.js";
import { quoteName, type Report } from "./finding.js";
import { authorizationSchemes } from "./headers/authorization.js";
import { isHeaderName, isHeaderValue, isReservedHeader } from "./headers/header-rules.js";
import { literalOf, variablesOf } from "./template.js";

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
    } else if (isReservedHeader(name)) {
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

function judgeAuthorization(field: NamedField, report: Report): void {
  const { text } = field.template;
  const [, word = ""] = /^([A-Za-z][\w!#$&'*+.^`|~-]*) \S/.exec(text) ?? [];
  const known = suggest(word, authorizationSchemes);
  // Servers define schemes of their own, so any is accepted unless it looks like a known one that is misspelled.
  if (word !== "" && (known === undefined || known === word)) return;
  if (known !== undefined && !/^(?:bearer|basic)$/i.test(word)) {
    if (known.toLowerCase() === word.toLowerCase()) return;
    const message = `${quoteName(word)} is not a known scheme of Authorization.`;
    report("authorization-scheme", "warning", field, message, `Did you mean ${known}?`);
    return;
  }
  const variable = variablesOf(field.template)[0]?.name;
  const reference = `\${${variable ?? "API_TOKEN"}}`;
  const [, scheme, gap, rest] = /^\s*(bearer|basic)(\s*)(.*)$/is.exec(text) ?? [];
  if (scheme === undefined) {
    report(
      "authorization-scheme",
      "error",
      field,
      "Authorization has no scheme; a bare token is refused.",
      `Write "Bearer ${reference}", "Basic ${reference}" if it is the base64 of user:password, or the scheme that the server documents.`,
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
