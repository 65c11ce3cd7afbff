import { formatAddress } from "@wirescope/channelz/internal/text";
import type { Graph, GraphNode } from "./graph.js";
import { groupBy } from "./group-by.js";

/** The search text and the state filter. */
export interface GraphFilter {
  /** Words that must all occur in a node. */
  readonly text: string;
  /** The word of a state, or "problem"; empty for all. */
  readonly state: string;
}

/** The filtered graph, with the ids of the nodes that match; all others connect them to their process. */
export interface FilteredGraph extends Graph {
  /** Undefined if nothing was filtered. */
  readonly matches: ReadonlySet<string> | undefined;
}

/** Keeps the nodes that match and those between them and their process; for a search also everything below a match. */
export function filterGraph(graph: Graph, { text, state }: GraphFilter): FilteredGraph {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && state === "") return { ...graph, matches: undefined };
  const matches = new Set<string>();
  const kept = new Set<string>();
  for (const node of graph.nodes.values()) {
    if (!hasState(node, state) || !hasWords(node, words)) continue;
    matches.add(node.id);
    kept.add(node.id);
  }
  if (words.length > 0 && state === "") keepBelow(graph, kept);
  keepAbove(graph, kept);
  return {
    nodes: new Map([...graph.nodes].filter(([id]) => kept.has(id))),
    edges: graph.edges.filter(({ parent, child }) => kept.has(parent) && kept.has(child)),
    shape: graph.shape,
    matches,
  };
}

/** The states in the graph with the number of objects in each, for the filter. Problems first. */
export function statesOf({ nodes }: Graph): { readonly state: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  let problems = 0;
  for (const { object, state } of nodes.values()) {
    if (state.isProblem) problems += 1;
    if (object !== undefined) counts.set(state.word, (counts.get(state.word) ?? 0) + 1);
  }
  const rest = [...counts].map(([state, count]) => ({ state, count })).sort((a, b) => (a.state < b.state ? -1 : 1));
  return problems === 0 ? rest : [{ state: "problem", count: problems }, ...rest];
}

function hasState({ state, object }: GraphNode, wanted: string): boolean {
  if (wanted === "") return true;
  return wanted === "problem" ? state.isProblem : object !== undefined && state.word === wanted;
}

/** A cache: nodes that did not change are the same objects in the next graph. */
const texts = new WeakMap<GraphNode, string>();

function hasWords(node: GraphNode, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = texts.get(node) ?? searchText(node);
  texts.set(node, text);
  return words.every((word) => text.includes(word));
}

/** The searchable text of a node: kind, id, name, target, addresses, state. */
export function searchText({ title, label, state, object }: GraphNode): string {
  const parts = [title, label, state.word];
  if (object !== undefined) parts.push(object.name, object.target ?? "", object.origin);
  if (object?.kind === "socket") {
    parts.push(
      formatAddress(object.message?.local),
      formatAddress(object.message?.remote),
      object.message?.remoteName ?? "",
    );
  }
  return parts.join("\n").toLowerCase();
}

function keepBelow({ edges }: Graph, kept: Set<string>): void {
  const below = groupBy(edges, ({ parent }) => parent);
  for (const id of kept) for (const { child } of below.get(id) ?? []) kept.add(child);
}

function keepAbove({ nodes }: Graph, kept: Set<string>): void {
  for (const id of kept) {
    const parent = nodes.get(id)?.parent;
    if (parent !== undefined) kept.add(parent);
  }
}
