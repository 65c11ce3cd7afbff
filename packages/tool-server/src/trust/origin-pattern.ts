import type { Template } from "../config/template.js";
import { parseUrlTemplate } from "../config/url-template.js";
import { parseUrl } from "../url.js";

/** A pattern of origins, such as `https://*.example.com`. */
export interface OriginPattern {
  /** As written. */
  readonly text: string;
  /** Without the colon; `*` is any. */
  readonly scheme: string;
  /** The last labels of the host. */
  readonly labels: readonly string[];
  /** Whether at least one more label must precede them; without labels, any host matches. */
  readonly isOpen: boolean;
  /** A number, `*` for any, or undefined if the pattern has no port. */
  readonly port: string | undefined;
}

/** Parses a pattern, or says why it is invalid. */
export function parseOriginPattern(text: string): OriginPattern | { readonly problem: string } {
  const [, scheme, host, port] =
    /^(\*|[a-zA-Z]+):\/\/([^/?#@:[\]\s\\]+|\[[^\]]*\])(?::(\*|\d{1,5}))?$/.exec(text) ?? [];
  if (scheme === undefined || host === undefined) {
    return { problem: "it is not an origin; write only scheme, host and port, as in https://*.example.com" };
  }
  const lower = scheme.toLowerCase();
  if (lower !== "*" && !Object.hasOwn(defaultPorts, lower)) {
    return { problem: "its scheme must be https, wss, http, ws or *" };
  }
  const base = { text, scheme: lower, port: port && port !== "*" ? String(Number(port)) : port };
  if (host === "*") return { ...base, labels: [], isOpen: true };
  const isOpen = host.startsWith("*.");
  const written = isOpen ? host.slice(2) : host;
  if (written.includes("*"))
    return { problem: "* is allowed only as the first label of the host, as in *.example.com" };
  // The same parser as for the url of an entry, so that both are normalized alike.
  const name = parseUrl(`https://${written}`)?.hostname.replace(/\.$/, "");
  if (name === undefined) return { problem: "its host is invalid" };
  const isAddress = name.startsWith("[") || /^[\d.]+$/.test(name);
  if (isOpen && isAddress) return { problem: "an IP address has no subdomains" };
  return { ...base, labels: name.startsWith("[") ? [name] : name.split("."), isOpen };
}

/**
 * Whether an origin matches a pattern. Narrowly, it must match with any values of the variables, and a missing port means the default port of
 * the scheme. Widely, it is enough that it could match, and a missing port matches all ports.
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
    // A variable decides the rest: its value may have several labels.
    if (index <= labels.length && label === undefined) return isWide;
    if (label !== ending.at(-index)) return false;
  }
  return isOpen ? labels.length > ending.length : labels.length === ending.length;
}

/** The normalized origin of a url. */
export interface UrlOrigin {
  /** Without the colon; undefined if a variable decides. */
  readonly scheme: string | undefined;
  /** The labels of the host; undefined for a label that contains a variable. An IPv6 address is one label. */
  readonly labels: readonly (string | undefined)[];
  /** The port, including the default port of the scheme; undefined if a variable decides. */
  readonly port: string | undefined;
  /** For messages: for example `https://${TENANT_ID}.example.com`. */
  readonly text: string;
}

export const defaultPorts: Readonly<Record<string, string>> = { http: "80", ws: "80", https: "443", wss: "443" };

/**
 * The origin of a url: the resolved one, or the written one if its variables cannot be used. Undefined if no value could make it a URL.
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
  // The parser normalizes case, width and escapes of the host, so that the compared host is the one to connect to.
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

/** A string that does not occur in the text. Punycode keeps its ASCII letters together. */
function stemFor(text: string): string {
  const lower = text.toLowerCase();
  let stem = "vq";
  while (lower.includes(stem)) stem += "q";
  return stem;
}
