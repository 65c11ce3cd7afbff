import { countOf } from "../object-model/index.js";
import type { Graph, GraphEdge, GraphNode } from "./graph.js";
import { groupBy } from "./group-by.js";

/** Siblings with the same state, as one box. If it is open, the siblings are shown below it. */
export interface GroupNode extends GraphNode {
  readonly isGroup: true;
  readonly isOpen: boolean;
  readonly count: number;
}

/** A node as it is shown: one of the graph, or a group. */
export type ShownNode = (GraphNode & { readonly isGroup?: false }) | GroupNode;

/** A graph after folding. */
export interface FoldedGraph {
  /** Each after its parent. */
  readonly nodes: ReadonlyMap<string, ShownNode>;
  readonly edges: readonly GraphEdge[];
  /** The closed group that a hidden node is in, or below. */
  readonly groupOf: ReadonlyMap<string, string>;
  /** The ids of all groups, open ones as well. */
  readonly groups: ReadonlySet<string>;
}

export interface FoldOptions {
  /** The ids of groups that are open. */
  readonly open: ReadonlySet<string>;
  /** Groups of the previous graph. They stay until they are clearly too small, so that a single connection does not toggle a group. */
  readonly previous?: ReadonlySet<string> | undefined;
  /** Above this number, siblings become a group. Default: 40. */
  readonly maxSiblings?: number | undefined;
}

/**
 * Folds siblings of the same kind and state into groups if they are many. A node with a problem, or above one, is never in a group
 * with healthy ones.
 */
export function foldGraph(graph: Graph, { open, previous, maxSiblings = 40 }: FoldOptions): FoldedGraph {
  const memberGroups = findGroups(graph, previous, maxSiblings);
  const shown = new Map<string, ShownNode>();
  const groupOf = new Map<string, string>();
  const groups = new Set<string>();
  const parentsOf = new Map(
    [...groupBy(graph.edges, ({ child }) => child)].map(([id, all]) => [id, all.map(({ parent }) => parent)]),
  );
  const shared = findShared(parentsOf, memberGroups, open);

  // Ordered so that all parents of a node come before it, not just the first one.
  const inOrder = [...graph.nodes.values()].sort((a, b) => Math.abs(a.column) - Math.abs(b.column));
  for (const node of inOrder) {
    const anchor = anchorOf(parentsOf.get(node.id) ?? [], shown, groupOf);
    if (anchor?.isHidden && !shared.has(node.id)) {
      groupOf.set(node.id, anchor.id);
      continue;
    }
    const placed = anchor === undefined ? node : { ...node, parent: anchor.id };
    const group = memberGroups.get(node.id);
    if (group === undefined) {
      shown.set(node.id, placed);
      continue;
    }
    groups.add(group.id);
    const isOpen = open.has(group.id);
    if (!shown.has(group.id)) shown.set(group.id, createGroup(group, placed, isOpen));
    if (isOpen) shown.set(node.id, placed);
    else groupOf.set(node.id, group.id);
  }
  return { nodes: shown, edges: mergeEdges(graph.edges, shown, groupOf), groupOf, groups };
}

interface FoundGroup {
  readonly id: string;
  readonly members: readonly GraphNode[];
}

function findGroups(
  graph: Graph,
  previous: ReadonlySet<string> | undefined,
  maxSiblings: number,
): Map<string, FoundGroup> {
  const troubled = withProblemsBelow(graph);
  const alike = groupBy(graph.nodes.values(), (node) => groupId(node, troubled.has(node.id)));
  const found = new Map<string, FoundGroup>();
  for (const [id, members] of alike) {
    const limit = previous?.has(id) ? maxSiblings * 0.75 : maxSiblings;
    if (members.length <= limit || members[0]?.parent === undefined) continue;
    for (const { id: member } of members) found.set(member, { id, members });
  }
  return found;
}

/** Similar nodes have the same group id. A socket's activity changes too often to be part of it. */
function groupId({ parent, kind, role, state, object }: GraphNode, isTroubled: boolean): string {
  const word = state.isProblem || object?.state !== undefined ? state.word : "open";
  return `group|${parent}|${kind}|${role ?? ""}|${word}|${isTroubled ? "problem" : ""}`;
}

function withProblemsBelow({ nodes }: Graph): Set<string> {
  const troubled = new Set<string>();
  for (const node of [...nodes.values()].reverse()) {
    if (node.parent !== undefined && (node.state.isProblem || troubled.has(node.id))) troubled.add(node.parent);
  }
  return troubled;
}

/** Beyond this number, shared nodes do not help to see where the members of a group connect to. */
const maxShared = 8;

/** Nodes that only several members of the same closed group refer to, such as the address that all its sockets connect to. */
function findShared(
  parentsOf: ReadonlyMap<string, readonly string[]>,
  memberGroups: ReadonlyMap<string, FoundGroup>,
  open: ReadonlySet<string>,
): Set<string> {
  const byGroup = new Map<string, string[]>();
  for (const [id, parents] of parentsOf) {
    const [group, ...others] = new Set(parents.map((parent) => memberGroups.get(parent)?.id));
    if (parents.length < 2 || group === undefined || others.length > 0 || open.has(group)) continue;
    byGroup.set(group, [...(byGroup.get(group) ?? []), id]);
  }
  return new Set([...byGroup.values()].filter(({ length }) => length <= maxShared).flat());
}

/** The shown parent of a node: the first of its parents that is shown, or the group that hides the first one. */
function anchorOf(
  parents: readonly string[],
  shown: ReadonlyMap<string, ShownNode>,
  groupOf: ReadonlyMap<string, string>,
): { readonly id: string; readonly isHidden: boolean } | undefined {
  const visible = parents.find((id) => shown.has(id));
  if (visible !== undefined) return { id: visible, isHidden: false };
  const group = parents.map((id) => groupOf.get(id)).find((id) => id !== undefined);
  return group === undefined ? undefined : { id: group, isHidden: true };
}

function createGroup({ id, members }: FoundGroup, first: GraphNode, isOpen: boolean): GroupNode {
  const { kind, state, object, column, parent, role } = first;
  const isWorded = state.isProblem || object?.state !== undefined;
  const tone = isWorded ? state.tone : members.some((each) => each.state.tone === "ready") ? "ready" : "idle";
  return {
    id,
    isGroup: true,
    isOpen,
    count: members.length,
    kind,
    role,
    column,
    parent,
    title: countOf(members.length, role === "server" ? "client" : kind),
    label: isOpen ? "click to fold" : "click to show them",
    state: { tone, word: isWorded ? state.word : "open", isProblem: state.isProblem || id.endsWith("|problem") },
    traffic: members.reduce((sum, each) => sum + each.traffic, 0),
  };
}

/** The edges between shown nodes. The edges of a group's members are merged. */
function mergeEdges(
  edges: readonly GraphEdge[],
  shown: ReadonlyMap<string, ShownNode>,
  groupOf: ReadonlyMap<string, string>,
): GraphEdge[] {
  const merged = new Map<string, GraphEdge>();
  const representative = (id: string): string | undefined => (shown.has(id) ? id : groupOf.get(id));
  for (const edge of edges) {
    const parent = representative(edge.parent);
    const child = representative(edge.child);
    if (parent === undefined || child === undefined || parent === child) continue;
    const id = `${parent}\n${child}`;
    const same = merged.get(id);
    merged.set(id, {
      parent,
      child,
      traffic: edge.traffic + (same?.traffic ?? 0),
      isFailing: edge.isFailing || same?.isFailing === true,
    });
  }
  return [...merged.values()];
}
