import { literalFit } from "../servers/tool-filter.js";

const scheme = "wirescope://";

/** A URI that identifies a resource of a server, even if another server has one with the same URI. */
export function prefixedUri(server: string, uri: string): string {
  return `${scheme}${encodeURIComponent(server)}/${uri}`;
}

/** The parts of a prefixed URI; undefined if it is not prefixed. */
export function parsePrefixedUri(text: string): { readonly server: string; readonly uri: string } | undefined {
  if (!text.startsWith(scheme)) return undefined;
  const end = text.indexOf("/", scheme.length);
  if (end < 0) return undefined;
  try {
    return { server: decodeURIComponent(text.slice(scheme.length, end)), uri: text.slice(end + 1) };
  } catch {
    return undefined;
  }
}

/** How well a URI fits a template (RFC 6570): the number of literal characters; undefined if it does not fit. */
export function templateFit(template: string, uri: string): number | undefined {
  return literalFit(template.split(/\{[^{}]*\}/), uri);
}
