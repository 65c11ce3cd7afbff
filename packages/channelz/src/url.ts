/**
 * Parses a URL; undefined if it is invalid. Not `URL.canParse`: once V8 has optimized a call of it, Node 20 returns false for
 * every string that is not ASCII.
 */
export function parseUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
