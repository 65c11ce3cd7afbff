const scheme = "wirescope://";
/**
 * Clients recognize apps and skills by their schemes, which are kept: `ui://server+rest` and `skill://server+/rest`, because the folder
 * of a skill has the name of the skill.
 */
const keptSchemes: Readonly<Record<string, string>> = { "ui://": "+", "skill://": "+/" };

/** A URI that identifies a server's resource, even if another server has one with the same URI. */
export function prefixedUri(server: string, uri: string): string {
  const kept = Object.keys(keptSchemes).find((one) => uri.startsWith(one));
  if (kept !== undefined) return `${kept}${encodeURIComponent(server)}${keptSchemes[kept]}${uri.slice(kept.length)}`;
  return `${scheme}${encodeURIComponent(server)}/${uri}`;
}

/** The parts of a prefixed URI; undefined if it is not prefixed. */
export function parsePrefixedUri(text: string): { readonly server: string; readonly uri: string } | undefined {
  const start = [scheme, ...Object.keys(keptSchemes)].find((one) => text.startsWith(one));
  if (start === undefined) return undefined;
  const separator = keptSchemes[start] ?? "/";
  const end = text.indexOf(separator, start.length);
  if (end < 0) return undefined;
  const rest = text.slice(end + separator.length);
  try {
    return {
      server: decodeURIComponent(text.slice(start.length, end)),
      uri: `${start === scheme ? "" : start}${rest}`,
    };
  } catch {
    return undefined;
  }
}
