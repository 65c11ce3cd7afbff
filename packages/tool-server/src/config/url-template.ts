import { parseUrl } from "../url.js";
import type { Template } from "./template.js";

/**
 * The part of a url that a variable is in. `origin` is the beginning of the url: the variable holds scheme and host, and may hold
 * port and path.
 */
export type UrlRegion = "origin" | "scheme" | "user" | "host" | "port" | "path" | "query" | "fragment";

/** A url with variables, split before any value is known. Each part is as written, with U+E000 in place of each variable. */
export interface UrlTemplate {
  /** In lower case, without the colon; U+E000 if the first variable holds the origin. */
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

/** What stands for a variable in the parts of a UrlTemplate. */
export const variableMark = "\ue000";

/** Splits a url, or gives undefined if it is no absolute URL whatever the values are. */
export function parseUrlTemplate(template: Template): UrlTemplate | undefined {
  const skeleton = template.parts.map((part) => (part.kind === "text" ? part.text : variableMark)).join("");
  // A parser of URLs takes a backslash for a slash and drops tabs and line breaks; nobody means either.
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
    // The variable that holds the origin was counted in the scheme and again after it.
    regions: beginsWithOrigin ? ["origin", ...regions.slice(2)] : regions,
  };
}

/** Whether a variable in this region decides where a url leads. */
export function decidesOrigin(region: UrlRegion): boolean {
  return region === "origin" || region === "scheme" || region === "host" || region === "port";
}

const hostCharacters = /^[A-Za-z0-9._-]*$/;
const portAtEnd = /:([0-9]{1,5})$/;
const ipv6 = /^\[[0-9A-Fa-f:.]+\]$/;

/** Why a value cannot be in its place of a url, or undefined if it can. The reason does not contain the value. */
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
      return "no variable can be in the user name or password of a url";
    default:
      return value.isWellFormed() ? undefined : "it is not well-formed Unicode";
  }
}

function refuseHost({ host, port, regions }: UrlTemplate, index: number, value: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return "it begins with a scheme, and the url has one before it";
  const isLast = host.endsWith(variableMark) && port === "" && regions[index + 1] !== "host";
  const written = isLast ? portAtEnd.exec(value) : null;
  if (written !== null && !isPort(written[1] ?? "")) return "its port is not a number from 1 to 65535";
  const name = written === null ? value : value.slice(0, written.index);
  return host === variableMark && ipv6.test(name) ? undefined : refuseName(name);
}

function refuseOrigin({ host, port, path, query, fragment }: UrlTemplate, value: string): string | undefined {
  const [, authority, rest = ""] = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#\\]*)(.*)$/s.exec(value) ?? [];
  if (authority === undefined) return "it does not begin with a scheme, such as https://";
  if (authority.includes("@")) return "it holds a user name or password, or an @";
  const isWhole = host === variableMark && port === "";
  if (!isWhole && rest !== "") return "it holds a path, and the url goes on with its host or port";
  const written = isWhole ? portAtEnd.exec(authority) : null;
  if (written !== null && !isPort(written[1] ?? "")) return "its port is not a number from 1 to 65535";
  const name = written === null ? authority : authority.slice(0, written.index);
  if (name === "") return "it has no host";
  const refused = isWhole && ipv6.test(name) ? undefined : refuseName(name);
  if (refused !== undefined) return refused;
  const bad = /[^A-Za-z0-9\-._~!$&'()*+,;=:@%/?]/u.exec(rest)?.[0];
  if (bad !== undefined) return `it holds ${nameOf(bad)}, which is not part of the path of a url`;
  if (rest.includes("?") && path + query + fragment !== "") return "it holds a query, and the url goes on after it";
  const pathname = parseUrl(value)?.pathname;
  const hasDots = pathname !== undefined && pathname !== (rest.replace(/\?.*$/, "") || "/");
  return hasDots ? "its path has a segment . or .." : undefined;
}

function refuseName(name: string): string | undefined {
  if (hostCharacters.test(name)) return undefined;
  const bad = /[^A-Za-z0-9._-]/u.exec(name)?.[0] ?? "";
  const other = bad > "~" ? "; a name of other letters is given in its ASCII form, which begins with xn--" : "";
  return `it holds ${nameOf(bad)}, and only letters, digits, hyphens, underscores and dots can be in a host${other}`;
}

function isPort(value: string): boolean {
  return /^[0-9]{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535;
}

/**
 * The url with its values in place, or why it cannot be made. Each value must have passed `refuseInUrl`. Values of path, query and
 * fragment are percent-encoded; no value adds a segment or a parameter, and none makes a segment `.` or `..`.
 */
export function renderUrl(
  template: UrlTemplate,
  values: readonly string[],
): { readonly url: string } | { readonly refused: string } {
  const text = compose(template, values, encodeURIComponent);
  const sampleText = compose(template, values, () => "a");
  const [url, sample] = [parseUrl(text), parseUrl(sampleText)];
  if (url === undefined || sample === undefined) return { refused: "with the values in place it is not a URL" };
  if (template.host.includes(variableMark) && !isName(url.hostname)) {
    return { refused: "with the values in place the host has an empty or too long part between its dots" };
  }
  // 2130706433 and 0x7f.1 are 127.0.0.1 to a parser of URLs, and look like something else.
  if (/^[0-9.]+$/.test(url.hostname) && !text.includes(`//${url.hostname}`)) {
    return { refused: "with the values in place the host is an address that is not written as four numbers with dots" };
  }
  const isKept = hasSameShape(url, sample) && dotSegmentsOf(text) === dotSegmentsOf(sampleText);
  return isKept ? { url: text } : { refused: "the values would change the shape of the url" };
}

/** How many segments of the path are `.` or `..`. At the end of a path, a parser of URLs puts an empty one in their place. */
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
  // Both https://host and https://host/ are usual values, and neither is meant to make a segment that is empty.
  const joined = path.startsWith("/") ? start.replace(/\/$/, "") : start;
  return `${joined}${path}${query && `?${fill(query, encode)}`}${fill(template.fragment, encode)}`;
}

function hasSameShape(a: URL, b: URL): boolean {
  const segments = ({ pathname }: URL): number => pathname.split("/").length;
  const parameters = ({ search }: URL): number => search.split(/[&=]/).length;
  return (
    a.origin === b.origin &&
    a.username === b.username &&
    a.password === b.password &&
    segments(a) === segments(b) &&
    parameters(a) === parameters(b) &&
    (a.hash === "") === (b.hash === "")
  );
}

function isName(hostname: string): boolean {
  if (hostname.startsWith("[")) return true;
  const name = hostname.replace(/\.$/, "");
  return name.length <= 253 && name.split(".").every((label) => label !== "" && label.length <= 63);
}

function nameOf(character: string): string {
  return /^[!-~]$/.test(character)
    ? JSON.stringify(character)
    : `the character U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
