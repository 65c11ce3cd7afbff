import type { Channel, Server, Socket, SocketRef, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { deepestLevel, type WalkedChannel } from "./walk.js";
import type { OwnedSocketRef, SocketOwner } from "./walk-sockets.js";

/** Why a node of a tree shows nothing: it stands elsewhere in the tree, lies too deep, or the tree is full. */
export type TreeCut = "repeated" | "depth" | "limit";

interface Node<K, O> {
  readonly kind: K;
  readonly id: bigint;
  readonly name: string;
  /** The object, absent where the tree was cut or only refs were asked for. */
  readonly object?: O | undefined;
  readonly cut?: TreeCut | undefined;
  readonly children: readonly TreeNode[];
}

/** A channel, with its channels, subchannels and sockets. */
export type ChannelNode = Node<"channel", Channel>;
/** A subchannel, with its channels, subchannels and sockets. */
export type SubchannelNode = Node<"subchannel", Subchannel>;
/** A server, with the sockets it listens on and those it accepted. */
export type ServerNode = Node<"server", Server>;
/** A socket and what it is there for. */
export type SocketNode = Node<"socket", Socket> & Pick<SocketOwner, "role">;
/** Any node of a tree. */
export type TreeNode = ChannelNode | SubchannelNode | ServerNode | SocketNode;

/** All that a process holds, as a tree: finite, and each object shown in full once, whatever the refs of the peer are. */
export interface Tree {
  readonly channels: readonly TreeNode[];
  readonly servers: readonly TreeNode[];
  /** False where the peer holds more than the tree was allowed to. */
  readonly isComplete: boolean;
}

/** What a tree is made of. */
export interface Inventory {
  readonly channel: ReadonlyMap<bigint, WalkedChannel>;
  readonly subchannel: ReadonlyMap<bigint, WalkedChannel>;
  readonly servers: readonly { readonly server: Server; readonly sockets: readonly OwnedSocketRef[] }[];
  /** By id; undefined for one that was found and not read. */
  readonly sockets: ReadonlyMap<bigint, Socket | undefined>;
  readonly isComplete: boolean;
}

/** Arranges what was read as a tree. What refs name and the inventory lacks has vanished, and is left out. */
export function plantTree(inventory: Inventory): Tree {
  const planted = new Set<WalkedChannel | bigint>();

  function plantChannel(walked: WalkedChannel): TreeNode {
    planted.add(walked);
    const { kind, id, object } = walked;
    const name = object.ref?.name ?? "";
    const children = [
      ...object.channelRef.flatMap((ref) => plantChild(walked, "channel", ref.channelId, ref.name)),
      ...object.subchannelRef.flatMap((ref) => plantChild(walked, "subchannel", ref.subchannelId, ref.name)),
      ...object.socketRef.flatMap((ref) => plantSocket(ref, "client")),
    ];
    return kind === "channel"
      ? { kind, id, name, object: walked.object, children }
      : { kind, id, name, object: walked.object, children };
  }

  function plantChild(parent: WalkedChannel, kind: WalkedChannel["kind"], id: bigint, name: string): TreeNode[] {
    const child = inventory[kind].get(id);
    // Expanded below one parent only, and of those the nearest to the top: so neither a cycle nor a lattice makes the tree
    // larger than the graph.
    if (child !== undefined && child.depth === parent.depth + 1 && !planted.has(child)) return [plantChannel(child)];
    if (child !== undefined) return [{ kind, id, name, cut: "repeated", children: [] }];
    if (parent.depth >= deepestLevel) return [{ kind, id, name, cut: "depth", children: [] }];
    return inventory.isComplete ? [] : [{ kind, id, name, cut: "limit", children: [] }];
  }

  function plantSocket(ref: SocketRef, role: SocketOwner["role"]): TreeNode[] {
    const { socketId: id, name } = ref;
    const node = { kind: "socket", id, name, role, children: [] } as const;
    if (!inventory.sockets.has(id)) return inventory.isComplete ? [] : [{ ...node, cut: "limit" }];
    if (planted.has(id)) return [{ ...node, cut: "repeated" }];
    planted.add(id);
    return [{ ...node, object: inventory.sockets.get(id) }];
  }

  return {
    channels: [...inventory.channel.values()].filter(({ depth }) => depth === 0).map(plantChannel),
    servers: inventory.servers.map(({ server, sockets }) => ({
      kind: "server",
      id: server.ref?.serverId ?? 0n,
      name: server.ref?.name ?? "",
      object: server,
      children: sockets.flatMap(({ ref, owner }) => plantSocket(ref, owner.role)),
    })),
    isComplete: inventory.isComplete,
  };
}
