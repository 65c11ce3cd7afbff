import { literalFit } from "./literal-fit.js";

/** Which tools of a server are offered. Patterns are names as the server has them, where `*` stands for any text. */
export interface ToolFilter {
  /** Only these. Default: all. */
  readonly allow?: readonly string[] | undefined;
  /** Not these, also where they are allowed. Default: none. */
  readonly deny?: readonly string[] | undefined;
}

/** What judges a tool by its name. */
export function createToolFilter({ allow, deny = [] }: ToolFilter = {}): (name: string) => boolean {
  const allowed = allow?.map(patternOf);
  const denied = deny.map(patternOf);
  return (name) =>
    (allowed === undefined || allowed.some((matches) => matches(name))) && !denied.some((matches) => matches(name));
}

/** The patterns that match none of these names: they do nothing, and who wrote them should know. */
export function idlePatternsOf({ allow = [], deny = [] }: ToolFilter = {}, names: readonly string[]): string[] {
  return [...new Set([...allow, ...deny])].filter((text) => {
    const matches = patternOf(text);
    return !names.some(matches);
  });
}

// Not a regular expression: with two stars, a long name of a server would keep one busy for hours.
function patternOf(text: string): (name: string) => boolean {
  const literals = text.split("*");
  return (name) => literalFit(literals, name) !== undefined;
}
