import { ToolServerError } from "../errors.js";

/** The tools of a server that are offered. */
export interface OfferedTools {
  /** Only these; undefined: all. */
  readonly include: readonly string[] | undefined;
  /** Not these, even if they are included. */
  readonly exclude: readonly string[];
}

/** Enforces which tools of a server are listed and can be called. */
export interface Selection {
  /** Throws TOOL_EXCLUDED. */
  assertOffered(name: unknown): void;
  /** The result of a request, without the other tools. */
  applyTo<Result extends object>(method: string, result: Result): Result;
}

/** Creates the selection of a server; undefined if all of its tools are offered. */
export function createSelection(selection: OfferedTools | undefined, server: string): Selection | undefined {
  if (selection === undefined || (selection.include === undefined && selection.exclude.length === 0)) return undefined;
  const include = selection.include && new Set(selection.include);
  const exclude = new Set(selection.exclude);
  const isOffered = (name: unknown): boolean =>
    typeof name === "string" && (include?.has(name) ?? true) && !exclude.has(name);
  const assertOffered = (name: unknown): void => {
    if (isOffered(name)) return;
    const problem = `The configuration of server ${JSON.stringify(server)} does not offer the tool ${JSON.stringify(name)}.`;
    const advice = "Change includeTools or excludeTools in its entry.";
    throw new ToolServerError("TOOL_EXCLUDED", { problem, advice }, { details: { wasSent: false } });
  };
  return {
    assertOffered,
    applyTo(method, result) {
      if (method !== "tools/list" || !("tools" in result) || !Array.isArray(result.tools)) return result;
      return { ...result, tools: result.tools.filter((tool) => isOffered(Object(tool).name)) };
    },
  };
}
