import { formatAddress, printableText } from "@wirescope/channelz/internal/text";
import type { Counters, ObjectKey, Snapshot, SnapshotObject } from "@wirescope/channelz/timeline";
import {
  listenerOf,
  type ObjectState,
  objectLabel,
  objectState,
  objectTitle,
  rolesOf,
  type SocketRole,
  trafficOf,
} from "../object-model/index.js";
import { groupBy } from "./group-by.js";

/** What a node is. Processes and remote addresses are not Channelz objects. */
export type NodeKind = SnapshotObject["kind"] | "process" | "address";

/** A box of the graph. */
export interface GraphNode {
  /** The key of its object, or a generated id. */
  readonly id: string;
  readonly kind: NodeKind;
  readonly object?: SnapshotObject | undefined;
  readonly role?: SocketRole | undefined;
  readonly title: string;
  /** Such as `channel 12`. */
  readonly label: string;
  readonly state: ObjectState;
  /** Calls or messages per second. */
  readonly traffic: number;
  /** Left of its process if negative, right of it if positive. */
  readonly column: number;
  /** The neighbour towards the process, below which the layout places it. */
  readonly parent?: string | undefined;
}

/** A line between two nodes. `child` is farther from the process. */
export interface GraphEdge {
  readonly parent: string;
  readonly child: string;
  readonly traffic: number;
  readonly isFailing: boolean;
}

export interface Graph {
  /** Each after its parent. */
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly edges: readonly GraphEdge[];
  readonly shape: GraphShape;
}

/** How many columns the channels and subchannels take. */
export interface GraphShape {
  readonly channelColumns: number;
  readonly subchannelColumns: number;
}

export interface GraphInput {
  readonly snapshot: Snapshot;
  readonly ratesOf: (key: ObjectKey) => Counters | undefined;
  /** The title of a process. */
  readonly processTitle: (origin: string) => string;
  /** The previous graph: its columns stay, so that nothing moves sideways, and unchanged nodes are reused. */
  readonly previous?: Graph | undefined;
}

const idle: ObjectState = { tone: "idle", word: "", isProblem: false };

/** The whole graph of a snapshot: clients, listeners, servers, the process, channels, subchannels, sockets and remote addresses. */
export function buildGraph({ snapshot, ratesOf, processTitle, previous }: GraphInput): Graph {
  const { objects, origins } = snapshot;
  const nodes = new Map<string, GraphNode>();
  const edges: GraphEdge[] = [];
  const roles = rolesOf(objects);
  const depths = channelDepths(objects);
  const shape = shapeOf(objects, depths, previous?.shape);

  const connect = (parent: string, child: GraphNode): void => {
    edges.push({ parent, child: child.id, traffic: child.traffic, isFailing: child.state.isProblem });
  };
  const add = (object: SnapshotObject, column: number, parent: string, traffic?: number): GraphNode => {
    const role = roles.get(object.key);
    const rates = ratesOf(object.key);
    const state = objectState(object, rates, role);
    const flow = traffic ?? trafficOf(object, rates);
    const before = previous?.nodes.get(object.key);
    // Most objects do not change between two snapshots.
    const isSame =
      before?.object === object &&
      before.role === role &&
      before.column === column &&
      before.parent === parent &&
      before.traffic === flow &&
      before.state.word === state.word &&
      before.state.tone === state.tone;
    const node: GraphNode = isSame
      ? before
      : {
          id: object.key,
          kind: object.kind,
          object,
          role,
          title: objectTitle(object, role),
          label: objectLabel(object),
          state,
          traffic: flow,
          column,
          parent,
        };
    nodes.set(node.id, node);
    connect(parent, node);
    return node;
  };

  const addServer = (server: SnapshotObject, process: string): void => {
    add(server, -1, process);
    const sockets = present(server.children, objects);
    const listeners = sockets.filter(({ key }) => roles.get(key) === "listen");
    const accepted = sockets.filter(({ key }) => roles.get(key) !== "listen");
    const byListener = groupBy(accepted, (socket) => listenerOf(socket, listeners)?.key);
    for (const listener of listeners) {
      if (nodes.has(listener.key)) continue;
      // A listener has no counters: its traffic is that of the connections that it accepted.
      const traffic = byListener.get(listener.key)?.reduce((sum, each) => sum + trafficOf(each, ratesOf(each.key)), 0);
      add(listener, -2, server.key, traffic);
    }
    for (const [listener, connections] of byListener) {
      for (const socket of connections) if (!nodes.has(socket.key)) add(socket, -3, listener ?? server.key);
    }
  };

  const columnOf = ({ kind, key }: SnapshotObject): number => {
    const depth = depths.get(key) ?? 0;
    if (kind === "channel") return 1 + depth;
    if (kind === "subchannel") return 1 + Math.max(shape.channelColumns, depth);
    return 1 + shape.channelColumns + shape.subchannelColumns;
  };

  const addChannels = (tops: readonly SnapshotObject[], process: string): void => {
    const queue = tops.map((object) => ({ object, parent: process }));
    for (const { object, parent } of queue) {
      const known = nodes.get(object.key);
      // Already reached through another parent; references from a hostile peer may even form a cycle.
      if (known !== undefined) {
        connect(parent, known);
        continue;
      }
      add(object, columnOf(object), parent);
      for (const child of present(object.children, objects)) queue.push({ object: child, parent: object.key });
      if (object.kind === "socket") addAddress(object);
    }
  };

  const addAddress = (socket: SnapshotObject): void => {
    const remote = socket.kind === "socket" ? formatAddress(socket.message?.remote) : "-";
    if (remote === "-") return;
    const id = `address|${remote}`;
    const from = nodes.get(socket.key)!;
    if (!nodes.has(id)) {
      nodes.set(id, {
        id,
        kind: "address",
        title: printableText(remote, 120),
        label: "remote address",
        state: idle,
        traffic: 0,
        column: 2 + shape.channelColumns + shape.subchannelColumns,
        parent: socket.key,
      });
    }
    edges.push({ parent: socket.key, child: id, traffic: from.traffic, isFailing: from.state.isProblem });
  };

  for (const { name, error } of origins) {
    const id = `process|${name}`;
    nodes.set(id, {
      id,
      kind: "process",
      title: printableText(processTitle(name), 120),
      label: "process",
      state:
        error === undefined
          ? { tone: "ready", word: "", isProblem: false }
          : { tone: "failing", word: printableText(error, 200), isProblem: true },
      traffic: 0,
      column: 0,
    });
    const own = [...objects.values()].filter(({ origin }) => origin === name);
    for (const server of own) if (server.kind === "server") addServer(server, id);
    addChannels(
      own.filter(({ isTop }) => isTop),
      id,
    );
    // Objects whose parents closed while the snapshot was read.
    for (const object of own) if (!nodes.has(object.key)) addChannels([object], id);
  }
  return { nodes, edges, shape };
}

function present(keys: readonly ObjectKey[], objects: Snapshot["objects"]): SnapshotObject[] {
  return keys.flatMap((key) => objects.get(key) ?? []);
}

/** How far each channel and subchannel is from a top channel. */
function channelDepths(objects: Snapshot["objects"]): Map<ObjectKey, number> {
  const depths = new Map<ObjectKey, number>();
  const queue = [...objects.values()].filter(({ isTop }) => isTop);
  for (const { key } of queue) depths.set(key, 0);
  for (const object of queue) {
    for (const child of present(object.children, objects)) {
      if (child.kind === "socket" || depths.has(child.key)) continue;
      depths.set(child.key, (depths.get(object.key) ?? 0) + 1);
      queue.push(child);
    }
  }
  return depths;
}

function shapeOf(
  objects: Snapshot["objects"],
  depths: ReadonlyMap<ObjectKey, number>,
  previous: GraphShape | undefined,
): GraphShape {
  let channelColumns = previous?.channelColumns ?? 1;
  let deepest = 0;
  for (const [key, depth] of depths) {
    if (objects.get(key)?.kind === "channel") channelColumns = Math.max(channelColumns, depth + 1);
    else deepest = Math.max(deepest, depth);
  }
  const hasSubchannels = [...objects.values()].some(({ kind }) => kind === "subchannel");
  const needed = hasSubchannels ? Math.max(1, deepest - channelColumns + 1) : 0;
  return { channelColumns, subchannelColumns: Math.max(previous?.subchannelColumns ?? 0, needed) };
}
