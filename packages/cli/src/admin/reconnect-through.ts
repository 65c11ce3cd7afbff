import { printableText } from "@wirescope/channelz/printable-text";
import { ConnectivityState, type Server } from "@wirescope/gateway/admin";
import { exitCode } from "../failure.js";
import type { Io } from "../io.js";
import { formatJson } from "../output/json.js";
import { createScreen } from "../output/screen.js";
import { shellWord } from "../shell-word.js";
import { jsonOf } from "../tool-server/json-of.js";
import type { AdminAtHand } from "./ask-gateway.js";
import { failureFrom } from "./ask-gateway.js";
import { listServers } from "./list-servers.js";

/** Connects the named server, or all that are not connected, and prints how each is now. Rejects with SERVER_UNKNOWN. */
export async function reconnectThrough(
  gateway: AdminAtHand,
  name: string | undefined,
  values: { readonly json: boolean; readonly "no-color": boolean },
  io: Io,
): Promise<number> {
  const screen = createScreen(io, values["no-color"]);
  const before = await listServers(gateway, name);
  const servers = await Promise.all(before.map((server) => reconnect(gateway, server)));
  if (values.json) {
    const rows = servers.map((server) => [
      server.name,
      { isConnected: isConnected(server), failure: failureOf(server) },
    ]);
    screen.print(formatJson(jsonOf({ gateway: gateway.url, servers: Object.fromEntries(rows) })));
  } else if (servers.length === 0) {
    screen.print(`The gateway at ${gateway.url} has no servers.`);
  } else {
    for (const server of servers) screen.printAll(linesOf(server).map((line) => printableText(line)));
  }
  return servers.every(isConnected) ? exitCode.ok : exitCode.failure;
}

async function reconnect({ client, url }: AdminAtHand, server: Server): Promise<Server> {
  if (isConnected(server)) return server;
  try {
    return (await client.reconnect({ server: server.name })).server ?? server;
  } catch (error) {
    throw failureFrom(error, url);
  }
}

function isConnected({ state }: Server): boolean {
  return state === ConnectivityState.READY;
}

function failureOf(server: Server): { code: string | undefined; message: string } | undefined {
  const { failure } = server;
  return isConnected(server) || failure === undefined
    ? undefined
    : { code: failure.code || undefined, message: failure.message };
}

function linesOf(server: Server): string[] {
  const { name, serverName, serverVersion } = server;
  if (isConnected(server)) return [`${name} is connected: ${serverName} ${serverVersion}`.trimEnd()];
  const reason = failureOf(server)?.message ?? "";
  return [`${name} is not connected. ${reason}`.trimEnd(), `  Next: wirescope why ${shellWord(name)}`];
}
