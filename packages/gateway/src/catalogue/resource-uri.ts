import { literalFit } from "./literal-fit.js";

const scheme = "wirescope://";

/** The uri by which a resource of a server can always be asked for, also where another server has one of the same uri. */
export function prefixedUri(server: string, uri: string): string {
  return `${scheme}${encodeURIComponent(server)}/${uri}`;
}

/** The server and the uri that a prefixed uri is made of; undefined where it is none. */
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

/** How well a uri fits a template (RFC 6570): how many letters of the template stand in it; undefined where it does not fit. */
export function templateFit(template: string, uri: string): number | undefined {
  return literalFit(template.split(/\{[^{}]*\}/), uri);
}
