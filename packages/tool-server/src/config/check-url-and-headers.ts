import { isSecretName } from "../secrets/recognize-secrets.js";
import { suggest } from "../suggest.js";
import { type DialectName, referenceTo } from "./dialects.js";
import type { NamedField, NetworkEntry } from "./entry.js";
import { quoteName, type Report, type Severity } from "./finding.js";
import {
  authorizationSchemes,
  headerValueDefect,
  isHeaderName,
  isHeaderValue,
  isReservedHeader,
  writtenValueDefect,
} from "./headers.js";
import { literalOf, renderParts, variablesOf } from "./template.js";
import { decidesOrigin, parseUrlTemplate, variableMark } from "./url-template.js";

/** Checks the parts of an entry's url that do not depend on variables. */
export function checkUrl(entry: NetworkEntry, report: Report): void {
  const { url: field, type } = entry;
  const url = parseUrlTemplate(field.template);
  const secure = type === "ws" ? "wss" : "https";
  if (url === undefined) {
    const message = "The url is not an absolute URL.";
    const fix = `Write ${secure}://host/path without spaces, or \${API_URL}/path with a variable that contains ${secure}://host.`;
    report("url-invalid", "error", field, message, fix);
    return;
  }
  checkOrigin(entry, url, report);
  if (url.user !== "") {
    const message = "The url contains a user name or password.";
    const fix = "Send them in a header: Authorization with Basic and the base64 of user:password from a variable.";
    report("url-credentials", "error", field, message, fix);
  }
  if (url.fragment !== "") {
    const message = "The url has a fragment, which is never sent.";
    const fix = "Remove # and everything after it.";
    report("url-fragment", "warning", field, message, fix);
  }
  const variables = variablesOf(field.template);
  url.regions.forEach((region, index) => {
    const name = variables[index]?.name ?? "";
    if (region === "user" || !isSecretName(name)) return;
    const part = decidesOrigin(region) ? "host" : region;
    const message = `${name} looks like a secret, and logs and histories record the ${part} of a url.`;
    const fix = `Send it in a header: "Authorization": "Bearer \${${name}}".`;
    report("url-secret", part === "host" ? "error" : "warning", field, message, fix);
  });
}

/** Whether a host is a loopback host regardless of DNS; a subdomain of localhost is not. */
function isLiteralLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/.test(host);
}

/**
 * Checks scheme and host, before or after substitution. Parts that a variable decides are checked only after substitution. `fix` is the
 * start of the fix, before `https://`.
 */
export function checkOrigin(
  { type, url: field }: NetworkEntry,
  { scheme, host }: { readonly scheme: string; readonly host: string },
  report: Report,
  fix = "Start the url with",
): void {
  const [secure, insecure] = type === "ws" ? ["wss", "ws"] : ["https", "http"];
  if (scheme === secure || scheme.includes(variableMark)) return;
  const start = `${fix} ${secure}://`;
  if (scheme !== insecure) {
    const fits = scheme === "ws" || scheme === "wss" ? ' If it is a WebSocket server, its type is "ws".' : "";
    const message = `The url of a ${type} entry must start with ${secure}://.`;
    report("url-scheme", "error", field, message, `${start}.${fits}`);
  } else if (!isLiteralLoopback(host) && host !== variableMark) {
    const message = `The url uses ${insecure}://, so anyone on the network path could read and change the traffic, including credentials.`;
    report("url-insecure", "error", field, message, `${start}.`);
  } else if (host !== variableMark) {
    const message = `${insecure}:// to localhost is not encrypted. It is allowed by the approval of its entry.`;
    report("url-loopback", "note", field, message, `Use ${secure}:// in files that you share.`);
  }
}

/** Checks the headers of an entry against the rules of HTTP and of Authorization. */
export function checkHeaders(headers: readonly NamedField[], dialect: DialectName, report: Report): void {
  const seen = new Map<string, NamedField>();
  for (const field of headers) {
    const name = field.name.toLowerCase();
    if (!isHeaderName(field.name)) {
      const message = `${quoteName(field.name)} is not a valid header name.`;
      const fix = "Use letters, digits and hyphens, without spaces or colons.";
      report("header-name", "error", field, message, fix);
    } else if (isReservedHeader(name)) {
      report("header-reserved", "error", field, `${field.name} is set by the connection itself.`, "Remove it.");
    }
    const first = seen.get(name);
    if (first !== undefined) {
      // A configuration that a program created has no lines.
      const place = first.line > 0 ? ` on line ${first.line}` : "";
      const message = `${field.name} is the same header as ${first.name}${place}.`;
      report("header-duplicate", "error", field, message, "Keep one of the two.");
    }
    seen.set(name, field);
    const isRefused = name === "authorization" && checkAuthorization(field, dialect, report) === "error";
    const fallbacks = variablesOf(field.template).map(({ fallback = "" }) => fallback);
    if (!isHeaderValue([literalOf(field.template), ...fallbacks].join(""))) {
      const message = `The value of ${field.name} contains a line break or another character that is not allowed in headers.`;
      const fix = "Write it on one line with printable characters.";
      report("header-value", "error", field, message, fix);
    } else if (!isRefused) checkHeaderValue(field, report);
  }
}

/** Reports a value or a default that can never be sent. Values of variables are checked after substitution. */
function checkHeaderValue(field: NamedField, report: Report): void {
  const defect = writtenValueDefect(field.template);
  if (defect !== undefined) {
    const message = `The value of ${field.name} ${defect}, so it cannot be sent.`;
    const fix =
      field.template.text === "" ? "Write a value, or remove the header." : "Correct it, or remove the header.";
    report("header-value", "error", field, message, fix);
    return;
  }
  const variables = variablesOf(field.template);
  if (variables.length === 0 || variables.some(({ fallback }) => fallback === undefined)) return;
  const withDefaults = renderParts(field.template, ({ fallback = "" }) => fallback);
  const defectOfDefault = headerValueDefect(withDefaults);
  if (defectOfDefault === undefined) return;
  const names = [...new Set(variables.map(({ name }) => name))].join(" and ");
  const message = `With the default of ${names}, the value of ${field.name} ${defectOfDefault}, so it cannot be sent.`;
  report("header-value", "warning", field, message, "Write another default, or none.");
}

/** Returns the severity of the reported finding. */
function checkAuthorization(field: NamedField, dialect: DialectName, report: Report): Severity | undefined {
  const { text } = field.template;
  const [, word = ""] = /^([A-Za-z][\w!#$&'*+.^`|~-]*) \S/.exec(text) ?? [];
  const known = suggest(word, authorizationSchemes);
  // Servers define their own schemes, so any is accepted unless it looks like a misspelled known one.
  if (word !== "" && (known === undefined || known === word)) return undefined;
  if (known !== undefined && !/^(?:bearer|basic)$/i.test(word)) {
    if (known.toLowerCase() === word.toLowerCase()) return undefined;
    const message = `${quoteName(word)} is not a known Authorization scheme.`;
    report("authorization-scheme", "warning", field, message, `Did you mean ${known}?`);
    return "warning";
  }
  const variable = variablesOf(field.template)[0]?.name;
  const suggested = variable ?? "API_TOKEN";
  const reference = referenceTo(suggested, dialect);
  const [, scheme, gap, rest] = /^\s*(bearer|basic)(\s*)(.*)$/is.exec(text) ?? [];
  if (scheme === undefined) {
    const message = "Authorization has no scheme; servers reject a bare token.";
    const fix = `Write "Bearer ${reference}", "Basic ${reference}" if it is the base64 of user:password, or use the scheme that the server documents.`;
    report("authorization-scheme", "error", field, message, fix, {
      variable: suggested,
      write: `"Bearer ${reference}"`,
    });
    return "error";
  }
  const proper = scheme.toLowerCase() === "basic" ? "Basic" : "Bearer";
  const message =
    rest === ""
      ? `${proper} is not followed by credentials.`
      : gap !== " "
        ? `${proper} must come first and be followed by one space.`
        : `The scheme should be written ${proper}.`;
  const isOnlyCase = rest !== "" && gap === " " && text.startsWith(scheme);
  const severity = isOnlyCase ? "warning" : "error";
  const write = `"${proper} ${reference}"`;
  report("authorization-scheme", severity, field, message, `Write ${write}.`, { variable: suggested, write });
  return severity;
}
