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
    (allowed === undefined || allowed.some((pattern) => pattern.test(name))) &&
    !denied.some((pattern) => pattern.test(name));
}

/** The patterns that match none of these names: they do nothing, and who wrote them should know. */
export function idlePatternsOf({ allow = [], deny = [] }: ToolFilter = {}, names: readonly string[]): string[] {
  return [...new Set([...allow, ...deny])].filter((text) => {
    const pattern = patternOf(text);
    return !names.some((name) => pattern.test(name));
  });
}

function patternOf(text: string): RegExp {
  const parts = text.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}
