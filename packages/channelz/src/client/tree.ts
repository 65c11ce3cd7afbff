import type { ChannelzError } from "../errors.js";
import type { Channel, Server, Socket, SocketRef, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Unreadable } from "./look-up.js";
import { deepestLevel, type WalkedChannel } from "./walk.js";
import type { OwnedSocketRef, SocketOwner } from "./walk-sockets.js";

/** Why a node shows nothing: it is shown elsewhere in the tree, is too deep, or reading stopped before it. */
export type TreeCut = "repeated" | "depth" | "limit";

interface Node<K, O> {
  readonly kind: K;
  readonly id: bigint;
  readonly name: string;
  /** The object; missing if the tree was cut here, only refs were requested, or it is unreadable. */
  readonly object?: O | undefined;
  readonly cut?: TreeCut | undefined;
  /** Why the peer fails to read it; for a server, whose object is in the list, why its connections are unknown. */
  readonly unreadable?: ChannelzError | undefined;
  readonly children: readonly TreeNode[];
}

/** A channel, with its channels, subchannels and sockets. */
export type ChannelNode = Node<"channel", Channel>;
/** A subchannel, with its channels, subchannels and sockets. */
export type SubchannelNode = Node<"subchannel", Subchannel>;
/** A server, with the sockets it listens on and those it accepted. */
export type ServerNode = Node<"server", Server>;
/** A socket and its purpose. */
export type SocketNode = Node<"socket", Socket> & Pick<SocketOwner, "role">;
/** Any node of a tree. */
export type TreeNode = ChannelNode | SubchannelNode | ServerNode | SocketNode;

/** The objects of a process as a tree. It is finite and shows each object in full once, whatever the peer's refs are. */
export interface Tree {
  readonly channels: readonly TreeNode[];
  readonly servers: readonly TreeNode[];
  /** False if reading stopped early, so that the tree is partial. */
  readonly isComplete: boolean;
  /** Why reading stopped early: a limit, a failure of the peer, or the caller's signal. */
  readonly stoppedBy?: ChannelzError | undefined;
}

/** The objects of a tree. */
export interface Inventory {
  readonly channel: ReadonlyMap<bigint, WalkedChannel>;
  readonly subchannel: ReadonlyMap<bigint, WalkedChannel>;
  readonly servers: readonly ({
    readonly server: Server;
    readonly sockets: readonly OwnedSocketRef[];
  } & Partial<Unreadable>)[];
  /** By id; undefined for a socket that was found but not read. */
  readonly sockets: ReadonlyMap<bigint, Socket | Unreadable | undefined>;
  readonly stoppedBy: ChannelzError | undefined;
}

/** Arranges an inventory as a tree. Refs to objects that a complete inventory lacks are left out, because these have closed. */
export function plantTree(inventory: Inventory): Tree {
  const planted = new Set<WalkedChannel | bigint>();
  const isComplete = inventory.stoppedBy === undefined;

  function plantChannel(walked: WalkedChannel, refName = ""): TreeNode {
    planted.add(walked);
    const { kind, id, object } = walked;
    const name = object?.ref?.name ?? refName;
    if (object === undefined) return { kind, id, name, unreadable: walked.unreadable, children: [] };
    const children = [
      ...object.channelRef.flatMap((ref) => plantChild(walked, "channel", ref.channelId, ref.name)),
      ...object.subchannelRef.flatMap((ref) => plantChild(walked, "subchannel", ref.subchannelId, ref.name)),
      ...object.socketRef.flatMap((ref) => plantSocket(ref, "client")),
    ];
    return walked.kind === "channel"
      ? { kind: walked.kind, id, name, object: walked.object, children }
      : { kind: walked.kind, id, name, object: walked.object, children };
  }

  function plantChild(parent: WalkedChannel, kind: WalkedChannel["kind"], id: bigint, name: string): TreeNode[] {
    const child = inventory[kind].get(id);
    // Expanded below one parent only, the nearest to the top, so that cycles and shared objects do not make the tree larger
    // than the graph.
    if (child !== undefined && child.depth === parent.depth + 1 && !planted.has(child))
      return [plantChannel(child, name)];
    if (child !== undefined) return [{ kind, id, name, cut: "repeated", children: [] }];
    if (parent.depth >= deepestLevel) return [{ kind, id, name, cut: "depth", children: [] }];
    return isComplete ? [] : [{ kind, id, name, cut: "limit", children: [] }];
  }

  function plantSocket(ref: SocketRef, role: SocketOwner["role"]): TreeNode[] {
    const { socketId: id, name } = ref;
    const node = { kind: "socket", id, name, role, children: [] } as const;
    if (!inventory.sockets.has(id)) return isComplete ? [] : [{ ...node, cut: "limit" }];
    if (planted.has(id)) return [{ ...node, cut: "repeated" }];
    planted.add(id);
    const found = inventory.sockets.get(id);
    return [found !== undefined && "unreadable" in found ? { ...node, ...found } : { ...node, object: found }];
  }

  return {
    channels: [...inventory.channel.values()].filter(({ depth }) => depth === 0).map((top) => plantChannel(top)),
    servers: inventory.servers.map(({ server, sockets, unreadable }) => ({
      kind: "server",
      id: server.ref?.serverId ?? 0n,
      name: server.ref?.name ?? "",
      object: server,
      ...(unreadable === undefined ? {} : { unreadable }),
      children: sockets.flatMap(({ ref, owner }) => plantSocket(ref, owner.role)),
    })),
    isComplete,
    stoppedBy: inventory.stoppedBy,
  };
}
