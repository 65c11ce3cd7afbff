import type { SnapshotObject } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { type Column, Empty, StateMark, Table, Time } from "../design/index.js";
import { formatRate, objectPath } from "../object-model/index.js";
import { openPanel, tableQuery } from "../shell/routing/index.js";
import type { Graph, GraphNode } from "./graph.js";
import { lastActivity } from "./last-activity.js";

export interface ObjectTableProps {
  readonly graph: Graph;
  readonly matches: ReadonlySet<string> | undefined;
  readonly selected: string | undefined;
}

interface Row {
  readonly node: GraphNode;
  readonly object: SnapshotObject;
  readonly lastMs: number | undefined;
}

/** Problems first, then changing states, then idle ones. */
const toneOrder = ["failing", "waiting", "connecting", "ready", "idle"];
const kindOrder = ["server", "channel", "subchannel", "socket"];

const columns: readonly Column<Row>[] = [
  {
    key: "state",
    title: "State",
    render: ({ node }) => <StateMark tone={node.state.tone}>{node.state.word}</StateMark>,
    sortValue: ({ node }) => toneOrder.indexOf(node.state.tone),
  },
  {
    key: "object",
    title: "Object",
    render: ({ node }) => (node.role === "listen" ? `listener ${node.object?.id}` : node.label),
    sortValue: ({ object }) => kindOrder.indexOf(object.kind) * 1e15 + Number(object.id),
  },
  {
    key: "name",
    title: "Name or address",
    isWide: true,
    render: ({ node }) => <span title={node.title}>{node.title}</span>,
    sortValue: ({ node }) => node.title,
  },
  {
    key: "started",
    title: "Started",
    isNumber: true,
    priority: 2,
    render: ({ object }) => object.counters.started.toLocaleString("en"),
    sortValue: ({ object }) => object.counters.started,
  },
  {
    key: "failed",
    title: "Failed",
    isNumber: true,
    priority: 2,
    render: ({ object }) => object.counters.failed.toLocaleString("en"),
    sortValue: ({ object }) => object.counters.failed,
  },
  {
    key: "rate",
    title: "Per second",
    isNumber: true,
    priority: 2,
    render: ({ node }) => formatRate(node.traffic),
    sortValue: ({ node }) => node.traffic,
  },
  {
    key: "last",
    title: "Last activity",
    priority: 3,
    render: ({ lastMs }) => (lastMs === undefined ? "never" : <Time ms={lastMs} />),
    sortValue: ({ lastMs }) => lastMs ?? 0,
  },
];

/** All objects that match, as a table that can be sorted. */
export function ObjectTable({ graph, matches, selected }: ObjectTableProps): VNode {
  const rows = useMemo(() => rowsOf(graph, matches), [graph, matches]);
  const query = tableQuery();
  return (
    <Table
      what="objects"
      {...query}
      sort={query.sort ?? initialSort}
      columns={columns}
      rows={rows}
      keyOf={keyOf}
      onOpen={open}
      selectedKey={rows.find(({ node }) => selected !== undefined && node.id.endsWith(selected))?.node.id}
      isScrolling
      empty={<Empty title="Nothing matches the search and the filter." />}
    />
  );
}

const initialSort = { column: "state", isDescending: false };
const keyOf = ({ node }: Row): string => node.id;
const open = ({ object }: Row): void => openPanel(objectPath(object));

function rowsOf(graph: Graph, matches: ReadonlySet<string> | undefined): Row[] {
  return [...graph.nodes.values()].flatMap((node) => {
    const { object } = node;
    if (object === undefined || (matches !== undefined && !matches.has(node.id))) return [];
    return { node, object, lastMs: lastActivity(object) };
  });
}
