import { isSecretName } from "../secrets/secret-names.js";
import { suggest } from "../suggest.js";
import type { NamedField, NetworkEntry } from "./entry.js";
import { quoteName, type Report } from "./finding.js";
import { authorizationSchemes, isHeaderName, isHeaderValue, isReservedHeader } from "./headers.js";
import { literalOf, variablesOf } from "./template.js";
import { decidesOrigin, parseUrlTemplate, variableMark } from "./url-template.js";

/** Judges the url of an entry as far as its values do not matter. */
export function judgeUrl(entry: NetworkEntry, report: Report): void {
  const { url: field, type } = entry;
  const url = parseUrlTemplate(field.template);
  const secure = type === "ws" ? "wss" : "https";
  if (url === undefined) {
    report(
      "url-invalid",
      "error",
      field,
      "The url is not an absolute URL.",
      `Write ${secure}://host/path, without spaces, or \${API_URL}/path with a variable that holds ${secure}://host.`,
    );
    return;
  }
  judgeOrigin(entry, url, report);
  if (url.user !== "") {
    report(
      "url-credentials",
      "error",
      field,
      "The url carries a user name or password.",
      "Send them in a header: Authorization with Basic and the base64 of user:password in a variable.",
    );
  }
  if (url.fragment !== "") {
    report(
      "url-fragment",
      "warning",
      field,
      "The url has a fragment, which is never sent.",
      "Take away # and what follows.",
    );
  }
  const variables = variablesOf(field.template);
  url.regions.forEach((region, index) => {
    const name = variables[index]?.name ?? "";
    if (region === "user" || !isSecretName(name)) return;
    const place = decidesOrigin(region) ? "host" : region;
    report(
      "url-secret",
      place === "host" ? "error" : "warning",
      field,
      `${name} looks like a secret, and the ${place} of a url is kept in logs and histories.`,
      `Send it in a header: "Authorization": "Bearer \${${name}}".`,
    );
  });
}

/** Whether a host is of this machine alone, whatever a resolver says; so a name below localhost is not. */
function isSurelyLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/.test(host);
}

/**
 * Judges scheme and host: of the url as it is written, or with its values in place. What a variable decides is judged with its value
 * only. `fix` is the beginning of what to do, before `https://`.
 */
export function judgeOrigin(
  { type, url: field, allowsInsecureLoopback }: NetworkEntry,
  { scheme, host }: { readonly scheme: string; readonly host: string },
  report: Report,
  fix = "Start the url with",
): void {
  const [secure, insecure] = type === "ws" ? ["wss", "ws"] : ["https", "http"];
  if (scheme === secure || scheme.includes(variableMark)) return;
  const start = `${fix} ${secure}://`;
  if (scheme !== insecure) {
    const fits = scheme === "ws" || scheme === "wss" ? ' If it is a WebSocket server, its type is "ws".' : "";
    report("url-scheme", "error", field, `An entry of type ${type} has a url of ${secure}.`, `${start}.${fits}`);
  } else if (!isSurelyLoopback(host) && host !== variableMark) {
    const message = `The url is of ${insecure}: everything on the way could read and change what is sent, credentials too.`;
    report("url-insecure", "error", field, message, `${start}.`);
  } else if (!allowsInsecureLoopback) {
    const message = `The url is of ${insecure}; to this machine that is possible, but only when asked for.`;
    report("url-loopback", "error", field, message, `${start}, or allow it with --allow-insecure-loopback.`);
  } else if (host !== variableMark) {
    const message = `${insecure} to this machine is allowed for now.`;
    report("url-loopback", "note", field, message, `Use ${secure}:// for everyone else.`);
  }
}

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
