import type { Snapshot } from "@wirescope/channelz/timeline";
import { useRef } from "preact/hooks";
import { rates, session, snapshot } from "../shell/store/index.js";
import { type FilteredGraph, filterGraph, type GraphFilter } from "./filter.js";
import { type FoldedGraph, foldGraph } from "./fold.js";
import { buildGraph, type Graph } from "./graph.js";
import { arrange, type Layout, place } from "./layout.js";

/** The graph after each step, and the positions of its nodes. */
export interface ShownGraph {
  readonly graph: Graph;
  readonly filtered: FilteredGraph;
  readonly folded: FoldedGraph;
  readonly matches: ReadonlySet<string> | undefined;
  readonly layout: Layout;
  /** Changes when everything was arranged again, because the user changed a choice. */
  readonly arrangement: string;
}

export interface GraphChoices {
  readonly filter: GraphFilter;
  readonly openGroups: ReadonlySet<string>;
  /** How many times the user requested a new arrangement. */
  readonly arrangements: number;
}

interface Memory {
  snapshot?: Snapshot;
  graph?: Graph;
  groups?: ReadonlySet<string>;
  layout?: Layout;
  arrangement?: string;
  /** The last position of each node that was ever shown: it may appear again when the time bar moves. */
  readonly seen: Map<string, number>;
}

const maxSeen = 20_000;

/** The graph of the moment that the page shows. Positions change only if the user's choices do. */
export function useGraph({ filter, openGroups, arrangements }: GraphChoices): ShownGraph | undefined {
  const memory = useRef<Memory>({ seen: new Map() }).current;
  const now = snapshot.value;
  if (now === undefined) return undefined;

  // A search renders the same moment again with each key.
  const graph =
    memory.graph !== undefined && memory.snapshot === now
      ? memory.graph
      : buildGraph({ snapshot: now, ratesOf: rates, processTitle, previous: memory.graph });
  const filtered = filterGraph(graph, filter);
  const folded = foldGraph(filtered, { open: openGroups, previous: memory.groups });
  const arrangement = JSON.stringify([filter, [...openGroups], arrangements]);
  const layout =
    memory.layout === undefined || memory.arrangement !== arrangement || memory.layout.size === 0
      ? arrange(folded.nodes.values())
      : place(folded.nodes.values(), memory.layout, memory.seen);
  Object.assign(memory, { snapshot: now, graph, groups: folded.groups, layout, arrangement });
  if (memory.seen.size > maxSeen) memory.seen.clear();
  for (const [id, row] of layout) memory.seen.set(id, row);
  return { graph, filtered, folded, matches: filtered.matches, layout, arrangement };
}

/** The title of the page for the gateway, and the address of another process. */
function processTitle(origin: string): string {
  if (session.value?.kind === "gateway") return "gateway";
  const target = snapshot.value?.origins.find(({ name }) => name === origin)?.target;
  return origin || target || session.value?.targets[0] || session.value?.title || "process";
}
