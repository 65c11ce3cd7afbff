/** Which tools of a server are offered. Patterns match the server's own names; `*` matches any text. */
export interface ToolFilter {
  /** Only these. Default: all. */
  readonly allow?: readonly string[] | undefined;
  /** Not these, even if they are allowed. Default: none. */
  readonly deny?: readonly string[] | undefined;
}

/** Creates a function that returns whether a tool is offered. */
export function createToolFilter({ allow, deny = [] }: ToolFilter = {}): (name: string) => boolean {
  const allowed = allow?.map(patternOf);
  const denied = deny.map(patternOf);
  return (name) =>
    (allowed === undefined || allowed.some((matches) => matches(name))) && !denied.some((matches) => matches(name));
}

/** The patterns that match none of these names and therefore have no effect. */
export function idlePatternsOf({ allow = [], deny = [] }: ToolFilter = {}, names: readonly string[]): string[] {
  return [...new Set([...allow, ...deny])].filter((text) => {
    const matches = patternOf(text);
    return !names.some(matches);
  });
}

/** Creates a function that returns whether a name matches. `*` matches any text. */
// Not a regular expression: with two stars, a long tool name could take hours to match.
export function patternOf(text: string): (name: string) => boolean {
  const literals = text.split("*");
  return (name) => fitsLiterals(literals, name);
}

/** Whether a string starts with the first literal, ends with the last, and contains the others in order. Runs in linear time. */
export function fitsLiterals(literals: readonly string[], text: string): boolean {
  const first = literals[0] ?? "";
  const last = literals.at(-1) ?? "";
  if (literals.length <= 1) return first === text;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const literal of literals.slice(1, -1)) {
    const found = text.indexOf(literal, at);
    if (found < 0 || found + literal.length > end) return false;
    at = found + literal.length;
  }
  return true;
}
