import "./connections-view.css";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button, Empty, Loading } from "../design/index.js";
import { objectPath, parseObjectPath } from "../object-model/index.js";
import { address, openPanel, setQuery, type ViewProps } from "../shell/routing/index.js";
import { session, snapshot } from "../shell/store/index.js";
import type { ShownNode } from "./fold.js";
import { GraphView } from "./graph-view.js";
import { ObjectTable } from "./object-table.js";
import { ObjectTree } from "./object-tree.js";
import { type Presentation, Toolbar } from "./toolbar.js";
import { useGraph } from "./use-graph.js";

/** All connections as a live graph, a table or a tree. */
export function ConnectionsView({ query }: ViewProps): VNode {
  const [openGroups, setOpenGroups] = useState<ReadonlySet<string>>(new Set());
  const [arrangements, setArrangements] = useState(0);
  const filter = useMemo(() => ({ text: query.get("q") ?? "", state: query.get("state") ?? "" }), [query]);
  const shown = useGraph({ filter, openGroups, arrangements });
  const presentation = presentationOf(query.get("as"));
  const selected = selectedKey();

  if (snapshot.value === undefined || shown === undefined) return <Loading what="connections" />;
  const toggle = (group: string): void => {
    const next = new Set(openGroups);
    if (!next.delete(group)) next.add(group);
    setOpenGroups(next);
  };
  const open = (node: ShownNode): void => {
    if (node.isGroup) toggle(node.id);
    else if (node.object !== undefined) openPanel(objectPath(node.object));
    else if (node.kind === "address") setQuery({ q: node.title });
  };
  const isEmpty = snapshot.value.objects.size === 0;
  return (
    <div class="connections">
      <h1 class="visually-hidden">Connections</h1>
      <Toolbar filter={filter} presentation={presentation} graph={shown.graph} snapshot={snapshot.value} />
      {isEmpty && <NoObjects />}
      {!isEmpty && shown.folded.nodes.size === 0 && (
        <Empty title="Nothing matches the search and the filter.">
          <Button onClick={() => setQuery({ q: undefined, state: undefined })}>Show everything</Button>
        </Empty>
      )}
      {shown.folded.nodes.size > 0 && presentation === "graph" && (
        <GraphView
          shown={shown}
          selected={selected}
          onOpen={open}
          onArrange={() => setArrangements(arrangements + 1)}
        />
      )}
      {presentation === "tree" && shown.folded.nodes.size > 0 && (
        <ObjectTree folded={shown.folded} matches={shown.matches} selected={selected} onOpen={open} />
      )}
      {presentation === "table" && !isEmpty && (
        <ObjectTable graph={shown.filtered} matches={shown.matches} selected={selected} />
      )}
    </div>
  );
}

function NoObjects(): VNode {
  return session.value?.kind === "gateway" ? (
    <Empty title="The gateway has no connections yet.">
      They appear here as soon as a client or a server connects.
    </Empty>
  ) : (
    <Empty title="The process reports no channels and no servers.">
      They appear here as soon as it opens a channel or starts a server.
    </Empty>
  );
}

/** A graph needs space: phones start with the tree. */
function presentationOf(value: string | null): Presentation {
  if (value === "graph" || value === "table" || value === "tree") return value;
  return matchMedia("(max-width: 640px)").matches ? "tree" : "graph";
}

/** The suffix of the key of the object in the detail panel. */
function selectedKey(): string | undefined {
  const [, , kind, id] = address.value.panel?.split(/[/?]/) ?? [];
  const found = parseObjectPath(kind, id);
  return found === undefined ? undefined : `|${found.kind}|${found.id}`;
}
