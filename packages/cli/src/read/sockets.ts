import { type OwnedSocket, SocketSchema, walkAllSockets } from "@wirescope/channelz";
import { collect } from "../collect.js";
import { formatAddress } from "../output/address.js";
import { formatJson } from "../output/json.js";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import { securityName } from "../output/security.js";
import { type Column, renderTable } from "../output/table.js";
import { parseId } from "../parse-id.js";
import type { ReadTask } from "./read-task.js";

/** Prints the sockets of servers and channels, or of one server. */
export async function readSockets({
  source,
  screen,
  values,
}: ReadTask<{ readonly json: boolean; readonly server: string | undefined }>): Promise<void> {
  const serverId = values.server === undefined ? undefined : parseId(values.server, "--server");
  // A table shows nothing that is costly to obtain; JSON shows all there is.
  const sockets = await collect(walkAllSockets(source, { serverId, summary: !values.json }));
  if (values.json) return screen.print(formatJson(sockets.map(socketToJson)));
  if (sockets.length === 0) return screen.print("No sockets.");
  screen.printAll(renderTable(columns(screen), sockets, screen.width));
}

function socketToJson({ socket, owner }: OwnedSocket) {
  return { ...messageToJson(SocketSchema, socket), owner: { ...owner, id: String(owner.id) } };
}

function columns({ palette }: Screen): Column<OwnedSocket>[] {
  return [
    { title: "ID", align: "right", text: ({ socket }) => String(socket.ref?.socketId ?? 0n) },
    { title: "ROLE", text: ({ owner }) => owner.role },
    { title: "OF", least: 14, text: ({ owner }) => `${owner.kind} ${owner.id}` },
    { title: "LOCAL", least: 15, text: ({ socket }) => formatAddress(socket.local) },
    { title: "REMOTE", least: 15, text: ({ socket }) => formatAddress(socket.remote) },
    { title: "STREAMS", align: "right", text: ({ socket }) => String(socket.data?.streamsStarted ?? 0n) },
    {
      title: "FAILED",
      align: "right",
      text: ({ socket }) => String(socket.data?.streamsFailed ?? 0n),
      paint: ({ socket }) => (socket.data?.streamsFailed ? palette.bad : palette.plain),
    },
    { title: "SENT", align: "right", text: ({ socket }) => String(socket.data?.messagesSent ?? 0n) },
    { title: "RECEIVED", align: "right", text: ({ socket }) => String(socket.data?.messagesReceived ?? 0n) },
    { title: "SECURITY", text: ({ socket }) => securityName(socket.security) },
    { title: "NAME", text: ({ socket }) => socket.ref?.name || "-" },
  ];
}
