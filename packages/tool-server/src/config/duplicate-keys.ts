import type { FoundServers } from "./find-servers.js";
import type { JsonPath, Severity, SourcePosition } from "./finding.js";
import { type JsonNode, type JsonProblem, maxProblems } from "./json-with-positions.js";

/** The severity of a repeated key, and the position of what it makes unusable. */
export interface PlacedDuplicate {
  readonly severity: Severity;
  readonly position: SourcePosition;
}

/**
 * Decides what each repeated key makes unusable: the entry that it is in, or that has the same name as another; nothing, if another program
 * uses it; else the whole file, because it is unknown which servers are meant.
 */
export function placeDuplicates(
  root: JsonNode,
  { dialect, members }: Pick<FoundServers, "dialect" | "members">,
  problems: readonly JsonProblem[],
): (problem: JsonProblem) => PlacedDuplicate {
  const paths = new Map<string, JsonPath>();
  addRepeated(root, [], paths);
  const containers = [...new Map(members.map(({ path }) => [path.join("\n"), path])).values()];
  // An object with servers may be inside another one.
  containers.sort((a, b) => b.length - a.length);
  // Above the limit, a repeated key may not be among the problems. The servers in a registry file are not keys.
  const isWhole = dialect === "server-json" || containers.length === 0 || problems.length >= maxProblems;
  return ({ line, column }) => {
    const path = paths.get(`${line}:${column}`);
    const wholeFile = { severity: "error", position: { line, column, path: [] } } as const;
    if (path === undefined || isWhole || path[0] === "inputs") return wholeFile;
    const container = containers.find((each) => path.length > each.length && each.every((key, at) => path[at] === key));
    const server = container && path[container.length];
    if (typeof server === "string") return { severity: "error", position: { line, column, path, server } };
    const isUsed = containers.some((each) => each[0] === path[0]);
    return isUsed ? wholeFile : { severity: "warning", position: { line, column, path } };
  };
}

/** Adds the path of each repeated key, by its position. */
function addRepeated(node: JsonNode, path: JsonPath, paths: Map<string, JsonPath>): void {
  if (node.kind === "array") node.items.forEach((item, index) => void addRepeated(item, [...path, index], paths));
  if (node.kind !== "object") return;
  for (const { key, keyAt, value, isRepeated } of [...node.members, ...node.replaced]) {
    const own = [...path, key];
    if (isRepeated) paths.set(`${keyAt.line}:${keyAt.column}`, own);
    addRepeated(value, own, paths);
  }
}
