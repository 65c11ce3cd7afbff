import type { Template } from "../config/template.js";
import { parseUrlTemplate } from "../config/url-template.js";
import { parseUrl } from "../url.js";

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
