import type { JsonObject } from "@bufbuild/protobuf";
import { type OwnedSocket, walkAllSockets } from "@wirescope/channelz";
import { SocketSchema } from "@wirescope/channelz/client";
import { formatAddress, printableText, securityName } from "@wirescope/channelz/internal/text";
import { parseId } from "../option-values.js";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import type { Column } from "../output/table.js";
import { type ListSpec, type ListValues, printList } from "./list.js";
import { byNumber, byText } from "./list-orders.js";
import type { ReadTask } from "./read-task.js";

const ranks: Readonly<Record<string, number>> = { UNREADABLE: 0, LISTEN: 1, ACTIVE: 2, IDLE: 3 };

/** Prints the sockets of servers and channels, or of one server. */
export async function readSockets(task: ReadTask<ListValues & { readonly server: string | undefined }>): Promise<void> {
  const { server } = task.values;
  const serverId = server === undefined ? undefined : parseId(server, "--server");
  await printList(task, socketList(serverId));
}

function socketList(serverId: bigint | undefined): ListSpec<OwnedSocket> {
  const isFailing = ({ socket }: OwnedSocket): boolean =>
    socket === undefined || (socket.data?.streamsFailed ?? 0n) > 0n;
  return {
    noun: "sockets",
    groupTitle: "PEER",
    // Not as summaries: those leave out the security of a connection, which is a column of the table.
    read: (source, options) => walkAllSockets(source, { ...options, serverId }),
    idOf: ({ ref }) => ref.socketId,
    stateOf,
    rankOf: (row) => ranks[stateOf(row)] ?? 4,
    isFailing,
    groupOf: peerOf,
    countersOf: ({ socket }) => ({
      started: socket?.data?.streamsStarted ?? 0n,
      failed: socket?.data?.streamsFailed ?? 0n,
    }),
    textsOf: ({ ref, socket, owner }) => [
      ref.name,
      owner.name,
      formatAddress(socket?.local),
      formatAddress(socket?.remote),
      socket?.remoteName ?? "",
    ],
    orders: {
      role: byText(({ owner }) => owner.role),
      local: byText(({ socket }) => formatAddress(socket?.local)),
      remote: byText(({ socket }) => formatAddress(socket?.remote)),
      streams: byNumber(({ socket }) => socket?.data?.streamsStarted),
      failed: byNumber(({ socket }) => socket?.data?.streamsFailed),
      messages: byNumber(({ socket }) => (socket?.data?.messagesSent ?? 0n) + (socket?.data?.messagesReceived ?? 0n)),
    },
    columns: socketColumns,
    toJson: socketToJson,
    notes: (rows) =>
      rows.flatMap(({ ref, unreadable }) =>
        unreadable === undefined
          ? []
          : [`socket ${ref.socketId} is unreadable: ${printableText(unreadable.message, 1000)}`],
      ),
  };
}

/** Channelz has no socket states. This one is derived from the role and the streams. */
function stateOf({ socket, owner }: OwnedSocket): string {
  if (socket === undefined) return "UNREADABLE";
  if (owner.role === "listen") return "LISTEN";
  const { streamsStarted = 0n, streamsSucceeded = 0n, streamsFailed = 0n } = socket.data ?? {};
  return streamsStarted > streamsSucceeded + streamsFailed ? "ACTIVE" : "IDLE";
}

/** The address of the peer; for accepted connections without the port, which differs for each connection. */
function peerOf({ socket, owner, ref }: OwnedSocket): string {
  if (owner.role === "listen") return `listens on ${formatAddress(socket?.local)}`;
  const remote = socket?.remote;
  if (remote === undefined) return ref.name || "-";
  const address = formatAddress(remote);
  // The port of a server is meaningful; that of a client is ephemeral.
  return owner.role === "client" || remote.address.case !== "tcpipAddress" ? address : address.replace(/:\d+$/, "");
}

function socketToJson({ ref, socket, owner, unreadable }: OwnedSocket): JsonObject {
  const shown = { owner: { ...owner, id: String(owner.id) } };
  if (socket === undefined) {
    return { ref: { socketId: String(ref.socketId), name: ref.name }, unreadable: unreadable.message, ...shown };
  }
  return { ...messageToJson(SocketSchema, socket), ...shown };
}

function socketColumns({ palette }: Screen): Column<OwnedSocket>[] {
  return [
    { title: "ID", align: "right", importance: 9, text: ({ ref }) => String(ref.socketId) },
    { title: "ROLE", importance: 5, text: ({ owner }) => owner.role },
    { title: "OF", importance: 4, minWidth: 14, text: ({ owner }) => `${owner.kind} ${owner.id}` },
    {
      title: "LOCAL",
      importance: 7,
      minWidth: 15,
      text: ({ socket }) => (socket === undefined ? "unreadable" : formatAddress(socket.local)),
      paint: ({ socket }) => (socket === undefined ? palette.bad : palette.plain),
    },
    { title: "REMOTE", importance: 8, minWidth: 15, text: ({ socket }) => formatAddress(socket?.remote) },
    {
      title: "STREAMS",
      align: "right",
      importance: 6,
      text: ({ socket }) => String(socket?.data?.streamsStarted ?? 0n),
    },
    {
      title: "FAILED",
      align: "right",
      importance: 6,
      text: ({ socket }) => String(socket?.data?.streamsFailed ?? 0n),
      paint: ({ socket }) => (socket?.data?.streamsFailed ? palette.bad : palette.plain),
    },
    { title: "SENT", align: "right", text: ({ socket }) => String(socket?.data?.messagesSent ?? 0n) },
    { title: "RECEIVED", align: "right", text: ({ socket }) => String(socket?.data?.messagesReceived ?? 0n) },
    { title: "SECURITY", importance: 3, text: ({ socket }) => securityName(socket?.security) },
    { title: "NAME", text: ({ ref }) => ref.name || "-" },
  ];
}
