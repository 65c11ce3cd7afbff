import { Component, type VNode } from "preact";
import { ToneShape } from "../design/index.js";
import { objectPath, rateText, shortTitle } from "../object-model/index.js";
import type { ShownNode } from "./fold.js";
import type { Box } from "./geometry.js";

export interface NodeBoxProps {
  readonly node: ShownNode;
  readonly box: Box;
  readonly isSelected: boolean;
  /** Whether it is shown only to connect nodes that match a search. */
  readonly isFaded: boolean;
  readonly isTabStop: boolean;
  readonly isFar: boolean;
  readonly onOpen: (node: ShownNode) => void;
  readonly onHover: (id: string | undefined) => void;
  readonly onFocus: (id: string) => void;
}

/** One box of the graph. It renders again only if it changed, because there are hundreds of them. */
export class NodeBox extends Component<NodeBoxProps> {
  override shouldComponentUpdate(next: NodeBoxProps): boolean {
    return !isSame(this.props, next);
  }

  override render(): VNode {
    return renderNode(this.props);
  }
}

function renderNode(props: NodeBoxProps): VNode {
  const { node, box, isSelected, isFaded, isTabStop, isFar, onOpen, onHover, onFocus } = props;
  const classes = [
    "node",
    `node-${node.kind}`,
    node.isGroup && "node-group",
    node.state.isProblem && "node-problem",
    isSelected && "node-selected",
    isFaded && "node-faded",
    isFar && "node-far",
  ];
  const shared = {
    class: classes.filter(Boolean).join(" "),
    "data-node": node.id,
    tabIndex: isTabStop ? 0 : -1,
    title: node.title,
    onFocus: () => onFocus(node.id),
  };
  const content = (
    <>
      <span class={`node-mark tone-${node.state.tone}`}>
        <ToneShape tone={node.state.tone} />
      </span>
      {node.object !== undefined && (
        <span class="visually-hidden">{node.role === "listen" ? "listener" : node.kind} </span>
      )}
      <span class="node-title">{shortTitle(node.title)}</span>
      <span class="node-detail">{detailOf(node)}</span>
      <span class="node-note">{noteOf(node)}</span>
    </>
  );
  const open = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    onFocus(node.id);
    onOpen(node);
  };
  return (
    <li
      style={{ transform: `translate(${box.x}px, ${box.y}px)`, width: `${box.width}px`, height: `${box.height}px` }}
      onPointerEnter={() => onHover(node.id)}
      onPointerLeave={() => onHover(undefined)}
    >
      {node.object !== undefined && !node.isGroup ? (
        <a {...shared} href={objectPath(node.object)} aria-current={isSelected ? "true" : undefined} onClick={open}>
          {content}
        </a>
      ) : (
        <button {...shared} type="button" aria-expanded={node.isGroup ? node.isOpen : undefined} onClick={open}>
          {content}
        </button>
      )}
    </li>
  );
}

/** Compares only the fields that are shown, because snapshots replace the objects with every update. */
function isSame(before: NodeBoxProps, after: NodeBoxProps): boolean {
  return (
    before.box.x === after.box.x &&
    before.box.y === after.box.y &&
    before.box.width === after.box.width &&
    before.isSelected === after.isSelected &&
    before.isFaded === after.isFaded &&
    before.isTabStop === after.isTabStop &&
    before.isFar === after.isFar &&
    before.onOpen === after.onOpen &&
    (before.node === after.node || isSameNode(before.node, after.node))
  );
}

function isSameNode(before: ShownNode, after: ShownNode): boolean {
  return (
    before.title === after.title &&
    before.state.word === after.state.word &&
    before.state.isProblem === after.state.isProblem &&
    before.state.tone === after.state.tone &&
    detailOf(before) === detailOf(after) &&
    before.isGroup === after.isGroup &&
    (!before.isGroup || !after.isGroup || before.isOpen === after.isOpen)
  );
}

/** The second line: traffic if it has any, else the state. */
function detailOf(node: ShownNode): string {
  const unit = node.kind === "socket" || node.kind === "address" ? "msg" : "calls";
  const rate = rateText(node.traffic, unit);
  if (node.state.isProblem) return node.state.word;
  return rate || node.state.word || node.label;
}

/** At the end of the second line: the id, or what a click on a group does. */
function noteOf(node: ShownNode): string {
  if (node.isGroup) return node.isOpen ? "fold" : "show";
  return node.object === undefined ? "" : `#${node.object.id}`;
}
