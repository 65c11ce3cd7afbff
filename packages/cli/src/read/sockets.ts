import { type OwnedSocket, walkAllSockets } from "@wirescope/channelz";
import { SocketSchema } from "@wirescope/channelz/client";
import { formatAddress } from "../output/address.js";
import { formatJson } from "../output/json.js";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import { securityName } from "../output/security.js";
import { type Column, renderTable } from "../output/table.js";
import { unreadableLine } from "../output/unreadable.js";
import { parseId, parseLimit } from "../parse-id.js";
import { assertComplete, readUntilStopped } from "./partial.js";
import type { ListValues, ReadTask } from "./read-task.js";

/** Prints the sockets of servers and channels, or of one server. */
export async function readSockets({
  source,
  screen,
  values,
  signal,
}: ReadTask<ListValues & { readonly server: string | undefined }>): Promise<void> {
  const serverId = values.server === undefined ? undefined : parseId(values.server, "--server");
  // Not as summaries: those leave out the security of a connection, which is a column of the table.
  const walk = walkAllSockets(source, { serverId, signal, maxObjects: parseLimit(values.limit) });
  const { items: sockets, stoppedBy } = await readUntilStopped(walk);
  if (values.json) screen.print(formatJson(sockets.map(socketToJson)));
  else if (sockets.length === 0) screen.print("No sockets.");
  else {
    screen.printAll(renderTable(columns(screen), sockets, screen.width));
    for (const { ref, unreadable } of sockets) {
      if (unreadable !== undefined) screen.print(unreadableLine("socket", ref.socketId, unreadable));
    }
  }
  assertComplete(stoppedBy);
}

function socketToJson({ ref, socket, owner, unreadable }: OwnedSocket) {
  const shown = { owner: { ...owner, id: String(owner.id) } };
  if (socket === undefined) {
    return { ref: { socketId: String(ref.socketId), name: ref.name }, unreadable: unreadable.message, ...shown };
  }
  return { ...messageToJson(SocketSchema, socket), ...shown };
}

function columns({ palette }: Screen): Column<OwnedSocket>[] {
  return [
    { title: "ID", align: "right", text: ({ ref }) => String(ref.socketId) },
    { title: "ROLE", text: ({ owner }) => owner.role },
    { title: "OF", least: 14, text: ({ owner }) => `${owner.kind} ${owner.id}` },
    {
      title: "LOCAL",
      least: 15,
      text: ({ socket }) => (socket === undefined ? "unreadable" : formatAddress(socket.local)),
      paint: ({ socket }) => (socket === undefined ? palette.bad : palette.plain),
    },
    { title: "REMOTE", least: 15, text: ({ socket }) => formatAddress(socket?.remote) },
    { title: "STREAMS", align: "right", text: ({ socket }) => String(socket?.data?.streamsStarted ?? 0n) },
    {
      title: "FAILED",
      align: "right",
      text: ({ socket }) => String(socket?.data?.streamsFailed ?? 0n),
      paint: ({ socket }) => (socket?.data?.streamsFailed ? palette.bad : palette.plain),
    },
    { title: "SENT", align: "right", text: ({ socket }) => String(socket?.data?.messagesSent ?? 0n) },
    { title: "RECEIVED", align: "right", text: ({ socket }) => String(socket?.data?.messagesReceived ?? 0n) },
    { title: "SECURITY", text: ({ socket }) => securityName(socket?.security) },
    { title: "NAME", text: ({ ref }) => ref.name || "-" },
  ];
}
