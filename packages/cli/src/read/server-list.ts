import { ChannelzError, type Server, type Source, walkServers } from "@wirescope/channelz";
import { ServerSchema } from "@wirescope/channelz/client";
import { mapBounded } from "@wirescope/channelz/internal";
import { formatAddress, formatRelative, printableText, timeOf } from "@wirescope/channelz/internal/text";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import type { Column } from "../output/table.js";
import { type ListSpec, type ListValues, printList } from "./list.js";
import { byNumber, byText, byTime } from "./list-orders.js";
import type { ReadTask } from "./read-task.js";

interface ServerRow {
  readonly server: Server;
  /** The addresses of its listening sockets, or their names if they are unknown. */
  readonly listensOn: readonly string[];
  readonly notes: readonly string[];
}

const serverList: ListSpec<ServerRow> = {
  noun: "servers",
  groupTitle: "NAME",
  async *read(source, { signal, maxObjects }) {
    for await (const server of walkServers(source, { signal, maxObjects })) yield { server, listensOn: [], notes: [] };
  },
  complete: addAddresses,
  idOf: ({ server }) => server.ref?.serverId ?? 0n,
  stateOf: ({ server: { data } }) =>
    (data?.callsStarted ?? 0n) > (data?.callsSucceeded ?? 0n) + (data?.callsFailed ?? 0n) ? "ACTIVE" : "IDLE",
  rankOf: (row) => (serverList.stateOf(row) === "ACTIVE" ? 0 : 1),
  isFailing: ({ server }) => (server.data?.callsFailed ?? 0n) > 0n,
  groupOf: ({ server, listensOn }) => server.ref?.name || listensOn.join(", ") || "-",
  countersOf: ({ server: { data } }) => ({ started: data?.callsStarted ?? 0n, failed: data?.callsFailed ?? 0n }),
  textsOf: ({ server, listensOn }) => [server.ref?.name ?? "", ...listensOn],
  orders: {
    name: byText(({ server }) => server.ref?.name ?? ""),
    address: byText(({ listensOn }) => listensOn.join(", ")),
    calls: byNumber(({ server }) => server.data?.callsStarted),
    failed: byNumber(({ server }) => server.data?.callsFailed),
    "last-call": byTime(({ server }) => timeOf(server.data?.lastCallStartedTimestamp)),
  },
  columns: serverColumns,
  toJson: ({ server }) => messageToJson(ServerSchema, server),
  notes: (rows) => rows.flatMap(({ notes }) => notes),
};

/** Prints the servers with their listen addresses. */
export async function readServers(task: ReadTask<ListValues>): Promise<void> {
  await printList(
    task,
    task.values.json && task.values.filter === undefined ? { ...serverList, complete: keep } : serverList,
  );
}

/** Reads no addresses: JSON contains the refs of the listening sockets instead. */
async function keep(_: Source, rows: readonly ServerRow[]): Promise<readonly ServerRow[]> {
  return rows;
}

/** Reads the addresses of the listening sockets. If one cannot be read, its name is shown. */
async function addAddresses(
  source: Source,
  rows: readonly ServerRow[],
  signal: AbortSignal,
): Promise<readonly ServerRow[]> {
  const completed: ServerRow[] = [];
  const read = async ({ server }: ServerRow): Promise<ServerRow> => {
    const listensOn: string[] = [];
    const notes: string[] = [];
    for (const { socketId, name } of server.listenSocket) {
      try {
        const { socket } = await source.getSocket(socketId, { summary: true, signal });
        listensOn.push(socket?.local === undefined ? name || `socket ${socketId}` : formatAddress(socket.local));
      } catch (error) {
        if (!ChannelzError.is(error)) throw error;
        if (error.code === "NOT_FOUND") continue;
        listensOn.push(name || `socket ${socketId}`);
        if (!signal.aborted) notes.push(`socket ${socketId} is unreadable: ${printableText(error.message, 1000)}`);
      }
    }
    return { server, listensOn, notes };
  };
  for await (const row of mapBounded(rows, 16, read)) completed.push(row);
  return completed;
}

function serverColumns({ now, palette }: Screen): Column<ServerRow>[] {
  return [
    { title: "ID", align: "right", importance: 9, text: ({ server }) => String(server.ref?.serverId ?? 0n) },
    { title: "LISTENS ON", importance: 8, minWidth: 15, text: ({ listensOn }) => listensOn.join(", ") || "-" },
    { title: "NAME", importance: 5, text: ({ server }) => server.ref?.name || "-" },
    { title: "CALLS", align: "right", importance: 6, text: ({ server }) => String(server.data?.callsStarted ?? 0n) },
    { title: "OK", align: "right", text: ({ server }) => String(server.data?.callsSucceeded ?? 0n) },
    {
      title: "FAILED",
      align: "right",
      importance: 7,
      text: ({ server }) => String(server.data?.callsFailed ?? 0n),
      paint: ({ server }) => (server.data?.callsFailed ? palette.bad : palette.plain),
    },
    {
      title: "LAST CALL",
      importance: 3,
      minWidth: 9,
      text: ({ server }) => formatRelative(timeOf(server.data?.lastCallStartedTimestamp), now),
    },
  ];
}
