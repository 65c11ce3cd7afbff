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

/**
 * How well a uri fits a template (RFC 6570): the letters of the template that stand in it, in their order, from its start to
 * its end; undefined where they do not. What stands between them is not looked at, so that it takes no longer than it is long.
 */
export function templateFit(template: string, uri: string): number | undefined {
  const literals = template.split(/\{[^{}]*\}/);
  const first = literals[0] ?? "";
  const last = literals.at(-1) ?? "";
  if (literals.length === 1) return template === uri ? template.length : undefined;
  if (!uri.startsWith(first) || !uri.endsWith(last) || uri.length < first.length + last.length) return undefined;
  const end = uri.length - last.length;
  let at = first.length;
  let fit = first.length + last.length;
  for (const literal of literals.slice(1, -1)) {
    const found = uri.indexOf(literal, at);
    if (found < 0 || found + literal.length > end) return undefined;
    at = found + literal.length;
    fit += literal.length;
  }
  return fit;
}
