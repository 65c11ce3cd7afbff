import "./toolbar.css";
import type { Snapshot } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { SearchField, Tabs } from "../design/index.js";
import { countOf } from "../object-model/index.js";
import { setQuery } from "../shell/routing/index.js";
import { type GraphFilter, statesOf } from "./filter.js";
import type { Graph } from "./graph.js";

/** How the objects are shown. */
export type Presentation = "graph" | "table" | "tree";

export interface ToolbarProps {
  readonly filter: GraphFilter;
  readonly presentation: Presentation;
  /** The whole graph, including nodes that the filter hides. */
  readonly graph: Graph;
  readonly snapshot: Snapshot;
}

const presentations = [
  { key: "graph", title: "Graph" },
  { key: "table", title: "Table" },
  { key: "tree", title: "Tree" },
] as const;

/** Search, filter by state, and the choice of graph, table and tree. All of them are stored in the address. */
export function Toolbar({ filter, presentation, graph, snapshot }: ToolbarProps): VNode {
  return (
    <div class="connections-toolbar">
      <SearchField what="objects" value={filter.text} onInput={(q) => setQuery({ q })} />
      <fieldset class="connections-states" aria-label="Filter by state">
        <StateButton state="" title="all" count={snapshot.objects.size} filter={filter} />
        {statesOf(graph).map(({ state, count }) => (
          <StateButton
            key={state}
            state={state}
            title={state === "problem" ? "problems" : state}
            count={count}
            filter={filter}
          />
        ))}
      </fieldset>
      {!snapshot.isComplete && (
        <p class="connections-partial" title={snapshot.stoppedBy}>
          Only {countOf(snapshot.objects.size, "object")} could be read: {snapshot.stoppedBy}
        </p>
      )}
      <div class="connections-presentations">
        <Tabs label="Show as" tabs={presentations} selected={presentation} onSelect={(as) => setQuery({ as })} />
      </div>
    </div>
  );
}

interface StateButtonProps {
  readonly state: string;
  readonly title: string;
  readonly count: number;
  readonly filter: GraphFilter;
}

function StateButton({ state, title, count, filter }: StateButtonProps): VNode {
  return (
    <button
      type="button"
      class={state === "problem" ? "state-button state-button-problem" : "state-button"}
      aria-pressed={filter.state === state}
      onClick={() => setQuery({ state: filter.state === state ? undefined : state })}
    >
      {title} <span class="state-button-count">{count.toLocaleString("en")}</span>
    </button>
  );
}
