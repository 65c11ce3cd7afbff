import { parseUrl } from "../url.js";
import { renderParts, type Template } from "./template.js";

/**
 * The part of a url that contains a variable. `origin` is the start of the url: the variable contains scheme and host, and may contain port
 * and path.
 */
export type UrlRegion = "origin" | "scheme" | "user" | "host" | "port" | "path" | "query" | "fragment";

/** A url with variables, split before any value is known. Each part is as written, with U+E000 in place of each variable. */
export interface UrlTemplate {
  /** In lower case, without the colon; U+E000 if the first variable contains the origin. */
  readonly scheme: string;
  /** User name and password, with the `@`. */
  readonly user: string;
  readonly host: string;
  /** With the colon. */
  readonly port: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  /** With the `#`. */
  readonly fragment: string;
  /** The region of each variable, in order. */
  readonly regions: readonly UrlRegion[];
}

/** Replaces each variable in the parts of a UrlTemplate. */
export const variableMark = "\ue000";

/** Splits a url; undefined if no values could make it an absolute URL. */
export function parseUrlTemplate(template: Template): UrlTemplate | undefined {
  const skeleton = renderParts(template, () => variableMark);
  // URL parsers treat a backslash as a slash and drop tabs and line breaks; neither is ever intended.
  if (/[\s\\\p{Cc}]/u.test(skeleton)) return undefined;
  const beginsWithOrigin = skeleton.startsWith(variableMark) && !/^[^:/?#]*:\/\//.test(skeleton);
  const [, scheme, authority, path, query = "", fragment = ""] =
    /^([^:/?#]*):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/.exec(
      beginsWithOrigin ? `${variableMark}://${skeleton}` : skeleton,
    ) ?? [];
  if (scheme === undefined || authority === undefined || path === undefined) return undefined;
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, at + 1);
  const [, host, port = ""] = /^(\[[^\]]*\]|[^:]*)(:.*)?$/.exec(authority.slice(at + 1)) ?? [];
  if (host === undefined || host === "" || (beginsWithOrigin && user !== "")) return undefined;
  const pieces = { scheme, user, host, port, path, query, fragment };
  const regions = Object.entries(pieces).flatMap(([region, piece]) =>
    Array<UrlRegion>(piece.split(variableMark).length - 1).fill(region as UrlRegion),
  );
  const sample = `${scheme.includes(variableMark) ? "https" : scheme}://${user}${host}${port.replaceAll(variableMark, "1")}${path}`;
  if (parseUrl(sample.replaceAll(variableMark, "a")) === undefined) return undefined;
  return {
    ...pieces,
    scheme: scheme.toLowerCase(),
    query: query.slice(1),
    // The variable of the origin was counted twice: in the scheme and after it.
    regions: beginsWithOrigin ? ["origin", ...regions.slice(2)] : regions,
  };
}

/** Whether a variable in this region is part of the origin. */
export function decidesOrigin(region: UrlRegion): boolean {
  return region === "origin" || region === "scheme" || region === "host" || region === "port";
}

const portAtEnd = /:([0-9]{1,5})$/;
const ipv6 = /^\[[0-9A-Fa-f:.]+\]$/;

/** Why a value is invalid in its part of a url; undefined if it is valid. The reason does not contain the value. */
export function refuseInUrl(url: UrlTemplate, index: number, value: string): string | undefined {
  const region = url.regions[index] ?? "user";
  switch (region) {
    case "origin":
      return refuseOrigin(url, value);
    case "scheme":
      return /^[A-Za-z]*$/.test(value) ? undefined : "it is not a scheme such as https";
    case "host":
      return refuseHost(url, index, value);
    case "port":
      return isPort(value) ? undefined : "it is not a number from 1 to 65535";
    case "user":
      return "variables are not allowed in the user name or password of a url";
    default:
      return value.isWellFormed() ? undefined : "it is not well-formed Unicode";
  }
}

function refuseHost({ host, port, regions }: UrlTemplate, index: number, value: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return "it starts with a scheme, but the url already has one";
  const isLast = host.endsWith(variableMark) && port === "" && regions[index + 1] !== "host";
  const written = isLast ? portAtEnd.exec(value) : null;
  if (written !== null && !isPort(written[1] ?? "")) return "its port is not a number from 1 to 65535";
  const name = written === null ? value : value.slice(0, written.index);
  return host === variableMark && ipv6.test(name) ? undefined : refuseName(name);
}

function refuseOrigin({ host, port, path, query, fragment }: UrlTemplate, value: string): string | undefined {
  const [, authority, rest = ""] = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#\\]*)(.*)$/s.exec(value) ?? [];
  if (authority === undefined) return "it does not start with a scheme such as https://";
  if (authority.includes("@")) return "it contains a user name, a password or an @";
  const isWhole = host === variableMark && port === "";
  if (!isWhole && rest !== "") return "it contains a path, but the url continues with the host or port";
  const written = isWhole ? portAtEnd.exec(authority) : null;
  if (written !== null && !isPort(written[1] ?? "")) return "its port is not a number from 1 to 65535";
  const name = written === null ? authority : authority.slice(0, written.index);
  if (name === "") return "it has no host";
  const refused = isWhole && ipv6.test(name) ? undefined : refuseName(name);
  if (refused !== undefined) return refused;
  const bad = /[^A-Za-z0-9\-._~!$&'()*+,;=:@%/?]/u.exec(rest)?.[0];
  if (bad !== undefined) return `it contains ${nameOf(bad)}, which is not allowed in a url path`;
  if (rest.includes("?") && path + query + fragment !== "")
    return "it contains a query, but the url continues after it";
  const pathname = parseUrl(value)?.pathname;
  const hasDots = pathname !== undefined && pathname !== (rest.replace(/\?.*$/, "") || "/");
  return hasDots ? "its path contains a . or .. segment" : undefined;
}

function refuseName(name: string): string | undefined {
  const bad = /[^A-Za-z0-9._-]/u.exec(name)?.[0];
  if (bad === undefined) return undefined;
  const other = bad > "~" ? "; write an internationalized name in its ASCII form, which starts with xn--" : "";
  return `it contains ${nameOf(bad)}, but a host can contain only letters, digits, hyphens, underscores and dots${other}`;
}

function isPort(value: string): boolean {
  return /^[0-9]{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535;
}

/**
 * The url after substitution, or why it is invalid. Each value must have passed `refuseInUrl`. Values in path, query and fragment are
 * percent-encoded; no value can add a segment or a parameter, or make a segment `.` or `..`.
 */
export function renderUrl(
  template: UrlTemplate,
  values: readonly string[],
): { readonly url: string } | { readonly refused: string } {
  const text = compose(template, values, encodeURIComponent);
  const url = parseUrl(text);
  if (url === undefined) return { refused: "it is not a URL after substitution" };
  if (template.host.includes(variableMark) && !isName(url.hostname)) {
    return { refused: "after substitution, a label of the host is empty or too long" };
  }
  // URL parsers read 2130706433 and 0x7f.1 as 127.0.0.1, which the user would not see.
  if (/^[0-9.]+$/.test(url.hostname) && !text.split("/")[2]?.startsWith(url.hostname)) {
    return { refused: "after substitution, the host is an IP address that is not written as four decimal numbers" };
  }
  const isKept = dotSegmentsOf(text) === dotSegmentsOf(compose(template, values, () => "a"));
  return isKept ? { url: text } : { refused: "the values would change the structure of the url" };
}

/** The number of `.` and `..` segments in the path. At the end of a path, URL parsers replace them with an empty segment. */
function dotSegmentsOf(url: string): number {
  const [path = ""] = url.split(/[?#]/, 1);
  return path.split("/").filter((segment) => /^(?:\.|%2e){1,2}$/i.test(segment)).length;
}

function compose(template: UrlTemplate, values: readonly string[], encode: (value: string) => string): string {
  const { user, query, regions } = template;
  const left = [...values];
  const fill = (piece: string, map = (value: string): string => value): string =>
    piece.replaceAll(variableMark, () => map(left.shift() ?? ""));
  if (regions[0] !== "origin") {
    const start = `${fill(template.scheme)}://${fill(user)}${fill(template.host)}${fill(template.port)}`;
    return `${start}${fill(template.path, encode)}${query && `?${fill(query, encode)}`}${fill(template.fragment, encode)}`;
  }
  const origin = left.shift() ?? "";
  const start = `${origin}${fill(template.host.slice(1))}${fill(template.port)}`;
  const path = fill(template.path, encode);
  // Both https://host and https://host/ are common values, and neither should create an empty segment.
  const joined = path.startsWith("/") ? start.replace(/\/$/, "") : start;
  return `${joined}${path}${query && `?${fill(query, encode)}`}${fill(template.fragment, encode)}`;
}

function isName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, "");
  return name.length <= 253 && name.split(".").every((label) => label !== "" && label.length <= 63);
}

function nameOf(character: string): string {
  return /^[!-~]$/.test(character)
    ? JSON.stringify(character)
    : `the character U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
