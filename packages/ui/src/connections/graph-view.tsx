import "./graph-view.css";
import type { VNode } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button } from "../design/index.js";
import { EdgeLayer } from "./edge-layer.js";
import { FarNodes, farScale } from "./far-nodes.js";
import type { ShownNode } from "./fold.js";
import { type Box, boundsOf, boxOf, columnsOf } from "./geometry.js";
import { GraphColumns } from "./graph-columns.js";
import { edgesThrough, neighbourOf } from "./neighbours.js";
import { NodeBox } from "./node-box.js";
import type { ShownGraph } from "./use-graph.js";
import { usePointer } from "./use-pointer.js";
import { fit, overlaps, panBy, reveal, type Size, type Viewport, visibleBox, zoomAt } from "./viewport.js";

export interface GraphViewProps {
  readonly shown: ShownGraph;
  /** The suffix of the key of the object in the detail panel. */
  readonly selected: string | undefined;
  readonly onOpen: (node: ShownNode) => void;
  readonly onArrange: () => void;
}

const arrows = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" } as const;

/** The graph. It can be moved and zoomed by pointer, wheel and keyboard; only visible nodes are in the document. */
export function GraphView({ shown, selected, onOpen, onArrange }: GraphViewProps): VNode {
  const { folded, layout, matches, graph, arrangement } = shown;
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const [view, setView] = useState<Viewport>();
  const [hovered, setHovered] = useState<string>();
  const [focused, setFocused] = useState<string>();
  const wantsFocus = useRef(false);

  const columns = useMemo(() => columnsOf(graph.shape), [graph.shape.channelColumns, graph.shape.subchannelColumns]);
  const boxes = useMemo(() => {
    const all = new Map<string, Box>();
    for (const node of folded.nodes.values()) all.set(node.id, boxOf(node, layout, columns));
    return all;
  }, [folded, layout, columns]);

  const selectedId = useMemo(() => shownId(selected, folded), [selected, folded]);
  const showAll = useCallback(
    (isWhole: boolean) => {
      const bounds = boundsOf(boxes.values());
      if (bounds !== undefined && size !== undefined) setView(fit(bounds, size, centreOf(boxes), isWhole));
    },
    [boxes, size],
  );
  useFirstFit(view, size, arrangement, boxes, focused, setView);
  // The panel takes a part of the width; the selected node stays visible.
  useEffect(() => {
    const box = selectedId === undefined ? undefined : boxes.get(selectedId);
    if (box !== undefined && size !== undefined) setView((now) => now && reveal(now, box, size));
  }, [selectedId, size]);
  useLayoutEffect(() => {
    if (!wantsFocus.current || focused === undefined) return;
    wantsFocus.current = false;
    frame.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  });
  usePointer(frame, setView);
  const active = hovered ?? focused ?? selectedId;
  const highlighted = useMemo(() => (active === undefined ? [] : edgesThrough(active, folded.edges)), [active, folded]);

  if (view === undefined || size === undefined) return <div class="graph" ref={frame} />;
  const seen = visibleBox(view, size);
  const isFar = view.scale < farScale;
  const tabStop = focused !== undefined && folded.nodes.has(focused) ? focused : folded.nodes.keys().next().value;
  const near = [...folded.nodes.values()].filter(({ id }) =>
    isFar ? id === tabStop || id === selectedId || id === hovered : overlaps(boxes.get(id)!, seen) || id === tabStop,
  );

  const zoom = (factor: number): void => setView(zoomAt(view, factor, size.width / 2, size.height / 2));
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = arrows[event.key as keyof typeof arrows];
    if (direction !== undefined && event.shiftKey) {
      const [dx, dy] = { left: [80, 0], right: [-80, 0], up: [0, 80], down: [0, -80] }[direction] as [number, number];
      setView(panBy(view, dx, dy));
    } else if (direction !== undefined) {
      const next = neighbourOf(focused ?? tabStop ?? "", direction, folded.nodes, folded.edges, layout);
      if (next !== undefined) {
        wantsFocus.current = true;
        setFocused(next);
        setView(reveal(view, boxes.get(next)!, size));
      }
    } else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") showAll(false);
    else return;
    event.preventDefault();
  };

  return (
    <div
      class="graph"
      ref={frame}
      role="application"
      aria-label="Graph of connections"
      onKeyDown={onKeyDown}
      onPointerMove={isFar ? (event) => setHovered(nodeAt(event, view, boxes)) : undefined}
    >
      <div class="graph-space" style={{ transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})` }}>
        <EdgeLayer edges={folded.edges} boxes={boxes} highlighted={highlighted} />
        {isFar && <FarNodes nodes={folded.nodes} boxes={boxes} />}
        <ul class="graph-nodes">
          {near.map((node) => (
            <NodeBox
              key={node.id}
              node={node}
              box={boxes.get(node.id)!}
              isSelected={node.id === selectedId}
              isFaded={matches !== undefined && !node.isGroup && !matches.has(node.id)}
              isTabStop={node.id === tabStop}
              isFar={isFar}
              onOpen={onOpen}
              onHover={setHovered}
              onFocus={setFocused}
            />
          ))}
        </ul>
      </div>
      <GraphColumns columns={columns} nodes={folded.nodes} view={view} />
      <div class="graph-controls">
        <Button label="Zoom in (+)" onClick={() => zoom(1.25)}>
          +
        </Button>
        <Button label="Zoom out (-)" onClick={() => zoom(0.8)}>
          −
        </Button>
        <Button isSmall onClick={() => showAll(true)}>
          Show all
        </Button>
        <Button isSmall onClick={onArrange}>
          Arrange
        </Button>
      </div>
      <Legend />
    </div>
  );
}

/** When zoomed out, nodes are not elements, so the one below the pointer is looked up. */
function nodeAt(event: PointerEvent, view: Viewport, boxes: ReadonlyMap<string, Box>): string | undefined {
  const frame = (event.currentTarget as Element).getBoundingClientRect();
  const x = (event.clientX - frame.left - view.x) / view.scale;
  const y = (event.clientY - frame.top - view.y) / view.scale;
  for (const [id, box] of boxes) if (overlaps(box, { x, y, width: 1, height: 1 })) return id;
  return undefined;
}

/** The node that shows an object: itself, or the closed group that it is in. */
function shownId(selected: string | undefined, { nodes, groupOf }: ShownGraph["folded"]): string | undefined {
  if (selected === undefined) return undefined;
  for (const id of nodes.keys()) if (id.endsWith(selected) && !id.startsWith("group|")) return id;
  for (const [id, group] of groupOf) if (id.endsWith(selected)) return group;
  return undefined;
}

/** The first node is a process. */
function centreOf(boxes: ReadonlyMap<string, Box>): Box {
  return boxes.values().next().value!;
}

/** Fits the graph when it is first shown, and again when the user changes the filter, a group or the arrangement. */
function useFirstFit(
  view: Viewport | undefined,
  size: Size | undefined,
  arrangement: string,
  boxes: ReadonlyMap<string, Box>,
  focused: string | undefined,
  setView: (view: Viewport) => void,
): void {
  const fitted = useRef<string | undefined>(undefined);
  const anchor = useRef<Box | undefined>(undefined);
  useLayoutEffect(() => {
    if (size === undefined || fitted.current === arrangement) return;
    const bounds = boundsOf(boxes.values());
    if (bounds === undefined) return;
    const box = focused === undefined ? undefined : boxes.get(focused);
    const before = anchor.current;
    // The clicked node stays under the pointer.
    if (view !== undefined && box !== undefined && before !== undefined) {
      setView(panBy(view, (before.x - box.x) * view.scale, (before.y - box.y) * view.scale));
    } else setView(fit(bounds, size, centreOf(boxes)));
    fitted.current = arrangement;
  });
  useLayoutEffect(() => {
    anchor.current = focused === undefined ? undefined : boxes.get(focused);
  });
}

function useSize(frame: { readonly current: HTMLElement | null }): Size | undefined {
  const [size, setSize] = useState<Size>();
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) setSize({ width: element.clientWidth, height: element.clientHeight });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size;
}

const legend = [
  { word: "traffic", kind: "active", width: 4, path: "M0 4H28" },
  { word: "idle", kind: "idle", width: 1.5, path: "M0 4H28" },
  { word: "failing", kind: "failing", width: 1.5, path: "M0 4H8M20 4H28M11 1L17 7M17 1L11 7" },
] as const;

function Legend(): VNode {
  return (
    <ul class="graph-legend" aria-label="Legend">
      {legend.map(({ word, kind, width, path }) => (
        <li key={word}>
          <svg viewBox="0 0 28 8" aria-hidden="true">
            <path class={`edge edge-${kind}`} stroke-width={width} d={path} />
          </svg>
          {word}
        </li>
      ))}
    </ul>
  );
}
