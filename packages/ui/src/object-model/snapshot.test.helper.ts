import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Address,
  AddressSchema,
  ChannelSchema,
  ServerSchema,
  SocketSchema,
  SubchannelSchema,
} from "@wirescope/channelz/client";
import {
  type ConnectivityStateName,
  createSnapshot,
  noCounters,
  type ObjectKind,
  objectKey,
  type Snapshot,
  type SnapshotObject,
} from "@wirescope/channelz/timeline";

/** The definition of an object in a test. Children are written as `socket 5`. */
interface ObjectInit {
  readonly origin?: string;
  readonly name?: string;
  readonly children?: readonly string[];
  readonly unreadable?: string;
}

type ChannelInit = ObjectInit & {
  readonly state?: ConnectivityStateName;
  readonly target?: string;
  readonly isTop?: boolean;
};

function parts(kind: ObjectKind, id: number, { origin = "", name = "", children = [], unreadable }: ObjectInit) {
  return {
    key: objectKey(origin, kind, BigInt(id)),
    origin,
    id: BigInt(id),
    name,
    isTop: false,
    counters: noCounters,
    children: children.map((each) => {
      const [childKind, childId] = each.split(" ");
      return objectKey(origin, childKind as ObjectKind, BigInt(childId ?? 0));
    }),
    ...(unreadable === undefined ? {} : { unreadable }),
  };
}

/** A channel; a top channel by default. */
export function channel(
  id: number,
  init: ChannelInit = {},
  message: MessageInitShape<typeof ChannelSchema> = {},
): SnapshotObject {
  const { state = "READY", target = "", isTop = true } = init;
  return {
    ...parts("channel", id, init),
    kind: "channel",
    state,
    target,
    isTop,
    message: create(ChannelSchema, message),
  };
}

export function subchannel(
  id: number,
  init: ChannelInit = {},
  message: MessageInitShape<typeof SubchannelSchema> = {},
): SnapshotObject {
  const { state = "READY", target = "" } = init;
  return {
    ...parts("subchannel", id, init),
    kind: "subchannel",
    state,
    target,
    message: create(SubchannelSchema, message),
  };
}

/** A server. Its first `listening` children are listening sockets. */
export function server(id: number, init: ObjectInit & { readonly listening?: number } = {}): SnapshotObject {
  const listenSocket = Array.from({ length: init.listening ?? 1 }, () => ({}));
  return { ...parts("server", id, init), kind: "server", message: create(ServerSchema, { listenSocket }) };
}

/** A socket between two ports of this machine; 0 for no address. */
export function socket(
  id: number,
  local: number,
  remote: number,
  init: ObjectInit = {},
  more: MessageInitShape<typeof SocketSchema> = {},
): SnapshotObject {
  const address = (port: number): Address =>
    create(AddressSchema, {
      address:
        port === 0
          ? { case: undefined }
          : { case: "tcpipAddress", value: { ipAddress: Uint8Array.of(127, 0, 0, 1), port } },
    });
  return {
    ...parts("socket", id, init),
    kind: "socket",
    message: create(SocketSchema, { ...more, local: address(local), remote: address(remote) } as MessageInitShape<
      typeof SocketSchema
    >),
  };
}

export function snapshotOf(
  objects: Iterable<SnapshotObject>,
  origins: Snapshot["origins"] = [{ name: "", target: "" }],
): Snapshot {
  return createSnapshot({ timeMs: 1_000_000, origins, objects });
}
