import { ChannelzError, type Server, type Source, walkServers } from "@wirescope/channelz";
import { ServerSchema } from "@wirescope/channelz/client";
import { formatAddress } from "../output/address.js";
import { formatJson } from "../output/json.js";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import { formatRelative, timeOf } from "../output/time.js";
import { unreadableLine } from "../output/unreadable.js";
import { parseLimit } from "../parse-id.js";
import { assertComplete, readUntilStopped } from "./partial.js";
import type { ListValues, ReadTask } from "./read-task.js";

interface Row {
  readonly server: Server;
  readonly listensOn: string;
}

/** Prints the servers, with where they listen. */
export async function readServers({ source, screen, values, signal }: ReadTask<ListValues>): Promise<void> {
  const walk = walkServers(source, { signal, maxObjects: parseLimit(values.limit) });
  const { items: servers, stoppedBy } = await readUntilStopped(walk);
  if (values.json) screen.print(formatJson(servers.map((server) => messageToJson(ServerSchema, server))));
  else if (servers.length === 0) screen.print("No servers.");
  else await printTable({ source, screen, signal }, servers);
  assertComplete(stoppedBy);
}

async function printTable(
  { source, screen, signal }: Pick<ReadTask, "source" | "screen" | "signal">,
  servers: readonly Server[],
): Promise<void> {
  const notes: string[] = [];
  const rows: Row[] = [];
  for (const server of servers) rows.push({ server, listensOn: await listenAddresses(source, server, notes, signal) });
  screen.printAll(renderTable(columns(screen), rows, screen.width));
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

function columns({ now, palette }: Screen): Column<Row>[] {
  return [
    { title: "ID", align: "right", text: ({ server }) => String(server.ref?.serverId ?? 0n) },
    { title: "LISTENS ON", least: 15, text: ({ listensOn }) => listensOn },
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
      least: 9,
      text: ({ server }) => formatRelative(timeOf(server.data?.lastCallStartedTimestamp), now),
    },
  ];
}
