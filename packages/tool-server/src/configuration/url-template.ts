import { parseUrl } from "../url.js";
import type { Template } from "./template.js";

/** The part of a url that a variable stands in. */
export type UrlRegion = "scheme" | "user" | "host" | "port" | "path" | "query" | "fragment";

/** A url with variables, taken apart before any value is known: what is literal alone decides its shape. */
export interface UrlTemplate {
  /** In lower case, without the colon. */
  readonly scheme: string;
  /** Whether a user name or password stands before the host. */
  readonly hasUser: boolean;
  readonly hasFragment: boolean;
  /** The host as written, with U+E000 in place of each variable. */
  readonly host: string;
  /** The query as written, without the question mark, in the same form. */
  readonly query: string;
  /** The region of each variable, in order. */
  readonly regions: readonly UrlRegion[];
}

/** What stands for a variable in the parts of a UrlTemplate. */
export const variableMark = "\ue000";

/** Takes a url apart, or gives undefined where it is no absolute URL whatever the values are. */
export function parseUrlTemplate(template: Template): UrlTemplate | undefined {
  const skeleton = template.parts.map((part) => (part.kind === "text" ? part.text : variableMark)).join("");
  // A parser of URLs takes a backslash for a slash and drops tabs and line breaks; nobody means either.
  if (/[\s\\\p{Cc}]/u.test(skeleton)) return undefined;
  const [, scheme, authority, path, query = "", fragment] =
    /^([^:/?#]*):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/.exec(skeleton) ?? [];
  if (scheme === undefined || authority === undefined || path === undefined) return undefined;
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, at + 1);
  const [, host, port = ""] = /^(\[[^\]]*\]|[^:]*)(:.*)?$/.exec(authority.slice(at + 1)) ?? [];
  if (host === undefined || host === "") return undefined;
  const pieces: [UrlRegion, string][] = [
    ["scheme", scheme],
    ["user", user],
    ["host", host],
    ["port", port],
    ["path", path],
    ["query", query],
    ["fragment", fragment ?? ""],
  ];
  const regions = pieces.flatMap(([region, piece]) => Array(piece.split(variableMark).length - 1).fill(region));
  const sample = sampleUrl(template, regions);
  if (!regions.includes("scheme") && parseUrl(sample) === undefined) return undefined;
  return {
    scheme: scheme.toLowerCase(),
    hasUser: user !== "",
    hasFragment: fragment !== undefined,
    host,
    query: query.slice(1),
    regions,
  };
}

/** Why a value cannot stand in a region of a url, or undefined where it can. The reason does not tell the value. */
export function refuseInUrl(value: string, region: UrlRegion): string | undefined {
  switch (region) {
    case "host": {
      const bad = /[^A-Za-z0-9-]/u.exec(value)?.[0];
      if (bad !== undefined)
        return `it holds ${nameOf(bad)}, and only letters, digits and hyphens can be in a label of a host`;
      if (value === "") return "it is empty, and a label of a host is not";
      return value.length > 63 ? "it is longer than the 63 characters of a label" : undefined;
    }
    case "port":
      return /^[0-9]{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535
        ? undefined
        : "it is no number from 1 to 65535";
    case "path":
    case "query":
      return value.isWellFormed() ? undefined : "it is no well-formed Unicode";
    default:
      return `no variable can stand in the ${region} of a url`;
  }
}

/**
 * The url with its values in place, or why there is none. Values in path and query are percent-encoded; no value adds or
 * removes a label, a segment or a parameter, and none makes a segment `.` or `..`.
 */
export function renderUrl(
  template: Template,
  regions: readonly UrlRegion[],
  values: readonly string[],
): { readonly url: string } | { readonly refused: string } {
  let index = 0;
  let url = "";
  for (const part of template.parts) {
    if (part.kind === "text") {
      url += part.text;
      continue;
    }
    const region = regions[index] ?? "scheme";
    const value = values[index] ?? "";
    index += 1;
    const refused = refuseInUrl(value, region);
    if (refused !== undefined) return { refused: `the value of ${part.name} cannot be put in: ${refused}` };
    url += region === "path" || region === "query" ? encodeURIComponent(value) : value;
  }
  const parsed = parseUrl(url);
  if (parsed === undefined) return { refused: "with the values in place it is no URL" };
  return hasSameShape(new URL(sampleUrl(template, regions)), parsed)
    ? { url }
    : { refused: "the values would change the shape of the url" };
}

function sampleUrl(template: Template, regions: readonly UrlRegion[]): string {
  let index = 0;
  return template.parts
    .map((part) => {
      if (part.kind === "text") return part.text;
      index += 1;
      return regions[index - 1] === "port" ? "1" : "a";
    })
    .join("");
}

function hasSameShape(a: URL, b: URL): boolean {
  const labels = ({ hostname }: URL): number => hostname.split(".").length;
  const segments = ({ pathname }: URL): number => pathname.split("/").length;
  const parameters = ({ search }: URL): number => search.split(/[&=]/).length;
  return (
    a.protocol === b.protocol &&
    a.username === b.username &&
    a.password === b.password &&
    labels(a) === labels(b) &&
    isAddress(a.hostname) === isAddress(b.hostname) &&
    segments(a) === segments(b) &&
    parameters(a) === parameters(b) &&
    a.hash === b.hash
  );
}

function isAddress(hostname: string): boolean {
  return hostname.startsWith("[") || /^[0-9.]+$/.test(hostname);
}

function nameOf(character: string): string {
  return /^[!-~]$/.test(character)
    ? JSON.stringify(character)
    : `the character U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
