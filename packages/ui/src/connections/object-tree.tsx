import "./object-tree.css";
import type { VNode } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon, StateMark } from "../design/index.js";
import { useVisibleRows } from "../design/visible-rows.js";
import { rateText } from "../object-model/index.js";
import type { FoldedGraph, ShownNode } from "./fold.js";
import { type TreeRow, treeMove, treeRows } from "./tree-rows.js";

export interface ObjectTreeProps {
  readonly folded: FoldedGraph;
  readonly matches: ReadonlySet<string> | undefined;
  readonly selected: string | undefined;
  readonly onOpen: (node: ShownNode) => void;
}

/** The graph as a tree, for keyboard and screen reader, and for phones. */
export function ObjectTree({ folded, matches, selected, onOpen }: ObjectTreeProps): VNode {
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set());
  const [focused, setFocused] = useState<string>();
  const scroller = useRef<HTMLDivElement>(null);
  const wantsFocus = useRef(false);
  const rows = useMemo(() => treeRows(folded, collapsed), [folded, collapsed]);
  const { first, last, before, after, onScroll } = useVisibleRows(scroller, rows.length);
  const tabStop = rows.some(({ node }) => node.id === focused) ? focused : rows[0]?.node.id;

  useLayoutEffect(() => {
    if (!wantsFocus.current || focused === undefined) return;
    const element = scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(focused)}"]`);
    if (element === null || element === undefined) return;
    wantsFocus.current = false;
    element.focus();
  });

  const toggle = ({ node }: TreeRow): void => {
    if (node.isGroup) {
      onOpen(node);
      return;
    }
    const next = new Set(collapsed);
    if (!next.delete(node.id)) next.add(node.id);
    setCollapsed(next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = treeMove(
      rows,
      rows.findIndex(({ node }) => node.id === tabStop),
      event.key,
    );
    const row = move === undefined ? undefined : rows[move.index];
    if (move === undefined || row === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (move.kind === "open") onOpen(row.node);
    else if (move.kind === "toggle") toggle(row);
    else {
      wantsFocus.current = true;
      setFocused(row.node.id);
      revealRow(scroller.current, move.index, rows.length);
    }
  };
  const onClick = ({ target }: MouseEvent): void => {
    const id = target instanceof Element ? target.closest("[data-row]")?.getAttribute("data-row") : undefined;
    const row = rows.find(({ node }) => node.id === id);
    if (row === undefined) return;
    if (row.isExpanded !== undefined && (target as Element).closest(".tree-toggle") !== null) toggle(row);
    else onOpen(row.node);
  };

  return (
    <div class="object-tree" ref={scroller} onScroll={onScroll}>
      <div role="tree" aria-label="Connections" tabIndex={-1} onKeyDown={onKeyDown} onClick={onClick}>
        <div role="none" style={{ height: `${before}px` }} />
        {rows.slice(first, last).map((row) => (
          <Row
            key={row.node.id}
            row={row}
            isTabStop={row.node.id === tabStop}
            isSelected={selected !== undefined && row.node.id.endsWith(selected) && !row.node.isGroup}
            isFaded={matches !== undefined && !row.node.isGroup && !matches.has(row.node.id)}
            onFocus={setFocused}
          />
        ))}
        <div role="none" style={{ height: `${after}px` }} />
      </div>
    </div>
  );
}

/** A row that is not in the document yet gets there when the tree has scrolled to it. */
function revealRow(scroller: HTMLElement | null, index: number, count: number): void {
  if (scroller === null) return;
  const height = scroller.scrollHeight / Math.max(1, count);
  const top = index * height;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + height > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = top + height - scroller.clientHeight;
}

interface RowProps {
  readonly row: TreeRow;
  readonly isTabStop: boolean;
  readonly isSelected: boolean;
  readonly isFaded: boolean;
  readonly onFocus: (id: string) => void;
}

function Row({ row, isTabStop, isSelected, isFaded, onFocus }: RowProps): VNode {
  const { node, level, position, siblings, isExpanded } = row;
  const unit = node.kind === "socket" ? "msg" : "calls";
  return (
    <div
      role="treeitem"
      class={isFaded ? "tree-row tree-row-faded" : "tree-row"}
      data-row={node.id}
      aria-level={level}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-expanded={isExpanded}
      aria-selected={isSelected}
      tabIndex={isTabStop ? 0 : -1}
      style={{ paddingLeft: `${12 + (level - 1) * 20}px` }}
      onFocus={() => onFocus(node.id)}
    >
      <span class={isExpanded ? "tree-toggle tree-toggle-open" : "tree-toggle"} aria-hidden="true">
        {isExpanded !== undefined && <Icon name="chevron" size={12} />}
      </span>
      <span class="tree-kind">{node.isGroup ? "group" : node.role === "listen" ? "listener" : node.kind}</span>
      <span class="tree-title" title={node.title}>
        {node.title}
      </span>
      {node.object !== undefined && !node.isGroup && node.title !== node.label && (
        <span class="soft">{`#${node.object.id}`}</span>
      )}
      {node.state.word !== "" && <StateMark tone={node.state.tone}>{node.state.word}</StateMark>}
      <span class="tree-rate soft">{rateText(node.traffic, unit)}</span>
    </div>
  );
}
