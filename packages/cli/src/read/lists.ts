import {
  type Channel,
  ChannelzError,
  type OwnedSocket,
  type Server,
  type Source,
  walkAllSockets,
  walkServers,
  walkTopChannels,
} from "@wirescope/channelz";
import { ChannelSchema, ServerSchema, SocketSchema } from "@wirescope/channelz/client";
import { printableText } from "@wirescope/channelz/internal";
import { parseId, parseLimit } from "../option-values.js";
import { formatAddress } from "../output/address.js";
import { formatJson } from "../output/json.js";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import { securityName } from "../output/socket-details.js";
import { stateName, statePaint } from "../output/state.js";
import { type Column, renderTable } from "../output/table.js";
import { formatRelative, timeOf } from "../output/time.js";
import { assertComplete, type ListValues, type ReadTask, readUntilStopped } from "./read-task.js";

/** Prints the top channels. */
export async function readChannels({ source, screen, values, signal }: ReadTask<ListValues>): Promise<void> {
  const walk = walkTopChannels(source, { signal, maxObjects: parseLimit(values.limit) });
  const { items: channels, stoppedBy } = await readUntilStopped(walk);
  if (values.json) screen.print(formatJson(channels.map((channel) => messageToJson(ChannelSchema, channel))));
  else if (channels.length === 0) screen.print("No channels.");
  else screen.printAll(renderTable(channelColumns(screen), channels, screen.width));
  assertComplete(stoppedBy);
}

function channelColumns({ now, palette }: Screen): Column<Channel>[] {
  return [
    { title: "ID", align: "right", text: ({ ref }) => String(ref?.channelId ?? 0n) },
    {
      title: "STATE",
      minWidth: 17,
      text: ({ data }) => stateName(data),
      paint: ({ data }) => statePaint(data, palette),
    },
    { title: "TARGET", minWidth: 16, text: ({ data }) => data?.target || "-" },
    { title: "NAME", text: ({ ref }) => ref?.name || "-" },
    { title: "CALLS", align: "right", text: ({ data }) => String(data?.callsStarted ?? 0n) },
    { title: "OK", align: "right", text: ({ data }) => String(data?.callsSucceeded ?? 0n) },
    {
      title: "FAILED",
      align: "right",
      text: ({ data }) => String(data?.callsFailed ?? 0n),
      paint: ({ data }) => (data?.callsFailed ? palette.bad : palette.plain),
    },
    {
      title: "LAST CALL",
      minWidth: 9,
      text: ({ data }) => formatRelative(timeOf(data?.lastCallStartedTimestamp), now),
    },
  ];
}

interface ServerRow {
  readonly server: Server;
  readonly listensOn: string;
}

/** Prints the servers, with where they listen. */
export async function readServers({ source, screen, values, signal }: ReadTask<ListValues>): Promise<void> {
  const walk = walkServers(source, { signal, maxObjects: parseLimit(values.limit) });
  const { items: servers, stoppedBy } = await readUntilStopped(walk);
  if (values.json) screen.print(formatJson(servers.map((server) => messageToJson(ServerSchema, server))));
  else if (servers.length === 0) screen.print("No servers.");
  else await printServers({ source, screen, signal }, servers);
  assertComplete(stoppedBy);
}

async function printServers(
  { source, screen, signal }: Pick<ReadTask, "source" | "screen" | "signal">,
  servers: readonly Server[],
): Promise<void> {
  const notes: string[] = [];
  const rows: ServerRow[] = [];
  for (const server of servers) rows.push({ server, listensOn: await listenAddresses(source, server, notes, signal) });
  screen.printAll(renderTable(serverColumns(screen), rows, screen.width));
  screen.printAll(notes);
}

/** Where a server listens: the addresses of its listening sockets, or their names if they are unknown. */
async function listenAddresses(source: Source, server: Server, notes: string[], signal: AbortSignal): Promise<string> {
  const addresses: string[] = [];
  for (const { socketId, name } of server.listenSocket) {
    try {
      const { socket } = await source.getSocket(socketId, { summary: true, signal });
      addresses.push(socket?.local === undefined ? name || `socket ${socketId}` : formatAddress(socket.local));
    } catch (error) {
      if (!ChannelzError.is(error)) throw error;
      if (error.code === "NOT_FOUND") continue;
      addresses.push(name || `socket ${socketId}`);
      if (!signal.aborted) notes.push(unreadableLine("socket", socketId, error));
    }
  }
  return addresses.join(", ") || "-";
}

function serverColumns({ now, palette }: Screen): Column<ServerRow>[] {
  return [
    { title: "ID", align: "right", text: ({ server }) => String(server.ref?.serverId ?? 0n) },
    { title: "LISTENS ON", minWidth: 15, text: ({ listensOn }) => listensOn },
    { title: "NAME", text: ({ server }) => server.ref?.name || "-" },
    { title: "CALLS", align: "right", text: ({ server }) => String(server.data?.callsStarted ?? 0n) },
    { title: "OK", align: "right", text: ({ server }) => String(server.data?.callsSucceeded ?? 0n) },
    {
      title: "FAILED",
      align: "right",
      text: ({ server }) => String(server.data?.callsFailed ?? 0n),
      paint: ({ server }) => (server.data?.callsFailed ? palette.bad : palette.plain),
    },
    {
      title: "LAST CALL",
      minWidth: 9,
      text: ({ server }) => formatRelative(timeOf(server.data?.lastCallStartedTimestamp), now),
    },
  ];
}

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
    screen.printAll(renderTable(socketColumns(screen), sockets, screen.width));
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

function socketColumns({ palette }: Screen): Column<OwnedSocket>[] {
  return [
    { title: "ID", align: "right", text: ({ ref }) => String(ref.socketId) },
    { title: "ROLE", text: ({ owner }) => owner.role },
    { title: "OF", minWidth: 14, text: ({ owner }) => `${owner.kind} ${owner.id}` },
    {
      title: "LOCAL",
      minWidth: 15,
      text: ({ socket }) => (socket === undefined ? "unreadable" : formatAddress(socket.local)),
      paint: ({ socket }) => (socket === undefined ? palette.bad : palette.plain),
    },
    { title: "REMOTE", minWidth: 15, text: ({ socket }) => formatAddress(socket?.remote) },
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

/** Says of an object that the peer fails to read that it exists, and why nothing more is shown. */
function unreadableLine(kind: string, id: bigint, reason: Error): string {
  return `${kind} ${id} is unreadable: ${printableText(reason.message)}`;
}
