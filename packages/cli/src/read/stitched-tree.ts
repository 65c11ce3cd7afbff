import type { JsonObject } from "@bufbuild/protobuf";
import type { Socket } from "@wirescope/channelz";
import { formatAddress, printableText } from "@wirescope/channelz/internal/text";
import { readSnapshotOfAll, type SnapshotObject, type StitchedConnection, stitch } from "@wirescope/channelz/timeline";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { truncateToWidth } from "../output/text-layout.js";
import { UsageError } from "../usage-error.js";
import { assertSnapshotComplete, parseMaxObjects, type ReadTask } from "./read-task.js";

/** Prints the path of calls from one target to the next: channels, and the servers that they are connected to. */
export async function readStitchedTree(
  task: ReadTask<{ readonly json: boolean; readonly "max-objects": string | undefined }>,
): Promise<void> {
  const { targets, screen, values, signal } = task;
  if (targets.length < 2) throw new UsageError("tree --stitch requires at least two targets.");
  const snapshot = await readSnapshotOfAll(targets, { signal, maxObjects: parseMaxObjects(values) });
  const connections = stitch(snapshot);
  if (values.json) screen.print(formatJson(connections.map(connectionToJson)));
  else {
    const tops = [...snapshot.objects.values()].filter(({ isTop }) => isTop);
    drawPaths({ tops, connections, origins: snapshot.origins.filter(({ error }) => error === undefined) }, screen);
    for (const { error } of snapshot.origins)
      if (error !== undefined) screen.print(screen.palette.bad(printableText(error, 1000)));
    const pairs = `${connections.length} ${connections.length === 1 ? "connection" : "connections"}`;
    screen.print(`${pairs} between ${targets.length} targets`);
  }
  assertSnapshotComplete(snapshot);
}

interface Paths {
  readonly tops: readonly SnapshotObject[];
  readonly connections: readonly StitchedConnection[];
  readonly origins: readonly { readonly name: string }[];
}

/** Starts at the targets that no other target calls, and follows each connection into the next target. */
function drawPaths({ tops, connections, origins }: Paths, screen: Screen): void {
  const called = new Set(
    connections.filter(({ client, server }) => client.origin !== server.origin).map(({ server }) => server.origin),
  );
  const drawn = new Set<string>();
  const print = (lead: string, text: string, paint = screen.palette.plain): void => {
    const room = screen.width === undefined ? Number.POSITIVE_INFINITY : screen.width - lead.length;
    screen.print(screen.palette.faint(lead) + paint(truncateToWidth(printableText(text, 1000), room)));
  };

  const drawOrigin = (name: string, indent: string): void => {
    if (drawn.has(name)) return;
    drawn.add(name);
    const channels = tops.filter(({ origin }) => origin === name);
    channels.forEach((channel, index) => {
      const isLast = index === channels.length - 1;
      print(
        `${indent}${isLast ? "└─ " : "├─ "}`,
        channelText(channel),
        channel.state === "TRANSIENT_FAILURE" ? screen.palette.bad : undefined,
      );
      const below = `${indent}${isLast ? "   " : "│  "}`;
      const hops = groupHops(connections.filter(({ client }) => client.top.key === channel.key));
      hops.forEach((hop, at) => {
        const { server } = hop[0];
        const isLastHop = at === hops.length - 1;
        const again = drawn.has(server.origin) ? "  (shown elsewhere)" : "";
        print(`${below}${isLastHop ? "└▶ " : "├▶ "}`, `${hopText(hop)}${again}`, screen.palette.strong);
        drawOrigin(server.origin, `${below}${isLastHop ? "   " : "│  "}`);
      });
    });
  };

  const first = origins.filter(({ name }) => !called.has(name));
  // If the targets call each other in a circle, no target is the first.
  for (const { name } of [...first, ...origins]) {
    if (drawn.has(name)) continue;
    print("", name, screen.palette.strong);
    drawOrigin(name, "");
  }
}

type Hop = readonly [StitchedConnection, ...StitchedConnection[]];

/** The connections of a channel by the server that they reach. */
function groupHops(connections: readonly StitchedConnection[]): Hop[] {
  const hops = new Map<string, [StitchedConnection, ...StitchedConnection[]]>();
  for (const connection of connections) {
    const hop = hops.get(connection.server.top.key);
    if (hop === undefined) hops.set(connection.server.top.key, [connection]);
    else hop.push(connection);
  }
  return [...hops.values()];
}

function channelText({ id, state = "UNKNOWN", target, name, counters }: SnapshotObject): string {
  const failed = counters.failed > 0 ? `, ${counters.failed} failed` : "";
  return `channel ${id}  ${state}  ${target || name || "-"}  ${counters.started} calls${failed}`;
}

function hopText([first, ...others]: Hop): string {
  const { client, server } = first;
  const { top } = server;
  const title = `${server.origin}  server ${top.id}${top.name === "" ? "" : ` ${top.name}`}`;
  if (others.length > 0) return `${title}  ${others.length + 1} connections`;
  return `${title}  ${addressText(client.socket)}  socket ${client.socket.id} to ${server.socket.id}`;
}

function addressText({ message }: SnapshotObject): string {
  const { local, remote } = (message ?? {}) as Partial<Socket>;
  return `${formatAddress(local)} → ${formatAddress(remote)}`;
}

function connectionToJson({ client, server }: StitchedConnection): JsonObject {
  const { local, remote } = (client.socket.message ?? {}) as Partial<Socket>;
  return {
    client: {
      origin: client.origin,
      channel: String(client.top.id),
      owner: { kind: client.owner.kind, id: String(client.owner.id) },
      socket: String(client.socket.id),
      streams: { ...client.socket.counters },
    },
    server: {
      origin: server.origin,
      server: String(server.top.id),
      name: server.top.name,
      socket: String(server.socket.id),
      streams: { ...server.socket.counters },
    },
    local: formatAddress(local),
    remote: formatAddress(remote),
  };
}
