import { parseUrl } from "../url.js";
import { defaultPorts, type UrlOrigin } from "./url-origin.js";

/** A pattern of origins, as `https://*.example.com`. */
export interface OriginPattern {
  /** As it is written. */
  readonly text: string;
  /** Without the colon; `*` is any. */
  readonly scheme: string;
  /** The labels that a host ends with. */
  readonly labels: readonly string[];
  /** Whether one label or more stand before them; with no labels, any host. */
  readonly isOpen: boolean;
  /** A number, `*` for any, undefined where it is not written. */
  readonly port: string | undefined;
}

/** Reads a pattern, or says what is wrong with it. */
export function parseOriginPattern(text: string): OriginPattern | { readonly problem: string } {
  const [, scheme, host, port] =
    /^(\*|[a-zA-Z]+):\/\/([^/?#@:[\]\s\\]+|\[[^\]]*\])(?::(\*|\d{1,5}))?$/.exec(text) ?? [];
  if (scheme === undefined || host === undefined) {
    return { problem: "it is no origin; write scheme, host and port alone, as https://*.example.com" };
  }
  const lower = scheme.toLowerCase();
  if (lower !== "*" && !Object.hasOwn(defaultPorts, lower)) {
    return { problem: "its scheme is none of https, wss, http, ws and *" };
  }
  const base = { text, scheme: lower, port: port && port !== "*" ? String(Number(port)) : port };
  if (host === "*") return { ...base, labels: [], isOpen: true };
  const isOpen = host.startsWith("*.");
  const written = isOpen ? host.slice(2) : host;
  if (written.includes("*"))
    return { problem: "a * stands for whole labels at the start of the host, as *.example.com" };
  // The same parser as for the url of an entry, so that both have one form.
  const name = parseUrl(`https://${written}`)?.hostname.replace(/\.$/, "");
  if (name === undefined) return { problem: "its host is none" };
  const isAddress = name.startsWith("[") || /^[\d.]+$/.test(name);
  if (isOpen && isAddress) return { problem: "an address has no hosts below it" };
  return { ...base, labels: name.startsWith("[") ? [name] : name.split("."), isOpen };
}

/**
 * Whether an origin is one of a pattern. Narrowly, it must be whatever the variables are, and a port that the pattern does not
 * name is the scheme's own. Widely, it is enough that it could be, and such a pattern is of all ports.
 */
export function matchesOrigin(pattern: OriginPattern, origin: UrlOrigin, isWide: boolean): boolean {
  if (pattern.scheme !== "*" && pattern.scheme !== origin.scheme && !(isWide && origin.scheme === undefined))
    return false;
  return matchesPort(pattern.port, origin, isWide) && matchesHost(pattern, origin.labels, isWide);
}

function matchesPort(port: string | undefined, origin: UrlOrigin, isWide: boolean): boolean {
  if (port === "*" || (port === undefined && isWide)) return true;
  if (origin.port === undefined) return isWide;
  return origin.port === (port ?? defaultPorts[origin.scheme ?? ""]);
}

function matchesHost({ labels: ending, isOpen }: OriginPattern, labels: UrlOrigin["labels"], isWide: boolean): boolean {
  for (let index = 1; index <= ending.length; index += 1) {
    const label = labels.at(-index);
    // From here on a variable decides: its value may have several labels.
    if (index <= labels.length && label === undefined) return isWide;
    if (label !== ending.at(-index)) return false;
  }
  return isOpen ? labels.length > ending.length : labels.length === ending.length;
}
