import type { Template } from "../config/template.js";
import { parseUrlTemplate } from "../config/url-template.js";
import { parseUrl } from "../url.js";

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

/** Where a url leads, in the normal form of URLs. */
export interface UrlOrigin {
  /** Without the colon; undefined if a variable decides. */
  readonly scheme: string | undefined;
  /** The labels of the host; undefined for one that a variable is part of. An IPv6 address is one label. */
  readonly labels: readonly (string | undefined)[];
  /** The port, also if it is the default one of the scheme; undefined if a variable decides. */
  readonly port: string | undefined;
  /** For people: as `https://${TENANT_ID}.example.com`. */
  readonly text: string;
}

export const defaultPorts: Readonly<Record<string, string>> = { http: "80", ws: "80", https: "443", wss: "443" };

/**
 * The origin of a url: the resolved one, or what is written if variables decide it and their values cannot be used. Undefined if no
 * value could make it a URL.
 */
export function originOf(template: Template, resolved?: string): UrlOrigin | undefined {
  if (resolved !== undefined) return writtenOrigin(new URL(resolved));
  const regions = parseUrlTemplate(template)?.regions;
  if (regions === undefined || regions.includes("user")) return undefined;
  if (regions.includes("scheme") || regions.includes("origin")) {
    return { scheme: undefined, labels: [undefined], port: undefined, text: template.text };
  }
  const stem = stemFor(template.text);
  const names: string[] = [];
  let port: string | undefined;
  let index = 0;
  const sample = template.parts.map((part) => {
    if (part.kind === "text") return part.text;
    const region = regions[index];
    index += 1;
    if (region === "port") {
      port = (port ?? ":").concat("${", part.name, "}");
      return "1";
    }
    return region === "host" ? `${stem}${names.push(part.name) - 1}x` : "a";
  });
  // The parser maps cases, widths and escapes of a host, so that what is compared is what would be connected to.
  const url = parseUrl(sample.join(""));
  if (url === undefined) return undefined;
  const written = writtenOrigin(url);
  const { scheme } = written;
  const host = written.labels.join(".");
  const labels = written.labels.map((label: string) => (label.includes(stem) ? undefined : label));
  const shown = host.replace(new RegExp(`${stem}(\\d+)x`, "g"), (_, at: string) => `\${${names[Number(at)]}}`);
  const suffix = port ?? (url.port === "" ? "" : `:${url.port}`);
  return {
    scheme,
    labels,
    port: port === undefined ? written.port : undefined,
    text: `${scheme}://${shown}${suffix}`,
  };
}

function writtenOrigin(url: URL): UrlOrigin & Record<"scheme", string> & Record<"labels", readonly string[]> {
  const scheme = url.protocol.slice(0, -1);
  const host = url.hostname.replace(/\.$/, "");
  return {
    scheme,
    labels: host.startsWith("[") ? [host] : host.split("."),
    port: url.port || defaultPorts[scheme],
    text: url.origin,
  };
}

/** A piece of a label that does not occur in the text; of ASCII letters, which stay together also in Punycode. */
function stemFor(text: string): string {
  const lower = text.toLowerCase();
  let stem = "vq";
  while (lower.includes(stem)) stem += "q";
  return stem;
}
