import { ChannelzError, type Server, ServerSchema, type Source, walkServers } from "@wirescope/channelz";
import { collect } from "../collect.js";
import { formatAddress } from "../output/address.js";
import { formatJson } from "../output/json.js";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import { formatRelative, timeOf } from "../output/time.js";
import type { ReadTask } from "./read-task.js";

interface Row {
  readonly server: Server;
  readonly listensOn: string;
}

/** Prints the servers, with where they listen. */
export async function readServers({ source, screen, values }: ReadTask): Promise<void> {
  const servers = await collect(walkServers(source));
  if (values.json) return screen.print(formatJson(servers.map((server) => messageToJson(ServerSchema, server))));
  if (servers.length === 0) return screen.print("No servers.");
  const rows: Row[] = [];
  for (const server of servers) rows.push({ server, listensOn: await listenAddresses(source, server) });
  screen.printAll(renderTable(columns(screen), rows, screen.width));
}

/** Where a server listens: the addresses of its listening sockets, or their names where they are gone or say none. */
async function listenAddresses(source: Source, server: Server): Promise<string> {
  const addresses: string[] = [];
  for (const { socketId, name } of server.listenSocket) {
    try {
      const { socket } = await source.getSocket(socketId, { summary: true });
      addresses.push(socket?.local === undefined ? name || `socket ${socketId}` : formatAddress(socket.local));
    } catch (error) {
      if (!ChannelzError.is(error, "NOT_FOUND")) throw error;
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
