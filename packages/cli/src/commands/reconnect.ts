import { printableText } from "@wirescope/channelz/internal";
import type { ServerReport } from "@wirescope/gateway/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { exitCode } from "../failure.js";
import { formatJson } from "../output/json.js";
import { jsonOf } from "../tool-server/json-of.js";
import { adminOptions, serverOptions } from "../tool-server/server-options.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

const { config, profile, ca, json, "no-color": noColor, help } = serverOptions;
const options = { config, ...adminOptions, profile, ca, json, "no-color": noColor, help };

/** Makes the running gateway connect to servers now. */
export const reconnectCommand: Command = defineAdminCommand({
  name: "reconnect",
  summary: "make the running gateway connect now to one server, or to all that are not connected",
  parameters: ["[server]"],
  options,
  notes: [
    "The gateway also retries by itself, with a backoff of up to 30 s, or 5 minutes if the server refused the connection.",
    "The exit code is 0 if all these servers are connected, else 1.",
  ],
  isChange: () => true,
  async use({ admin, screen, values, positionals }) {
    const servers = await admin.reconnect(positionals[0]);
    if (values.json) {
      const rows = servers.map((server) => [
        server.name,
        { isConnected: server.isConnected, failure: failureOf(server) },
      ]);
      screen.print(formatJson(jsonOf({ gateway: admin.gateway, servers: Object.fromEntries(rows) })));
    } else if (servers.length === 0) {
      screen.print(`The gateway at ${admin.gateway} has no servers.`);
    } else {
      for (const server of servers) screen.printAll(linesOf(server).map((line) => printableText(line)));
    }
    return servers.every(({ isConnected }) => isConnected) ? exitCode.ok : exitCode.failure;
  },
});

function failureOf({ isConnected, failure }: ServerReport): { code: string | undefined; message: string } | undefined {
  return isConnected || failure === undefined ? undefined : { code: failure.code, message: failure.message };
}

function linesOf(server: ServerReport): string[] {
  const { name, isConnected, description } = server;
  if (isConnected) return [`${name} is connected: ${description.name} ${description.version}`.trimEnd()];
  const reason = failureOf(server)?.message ?? "";
  return [`${name} is not connected. ${reason}`.trimEnd(), `  Next: ${commandLine("why", name)}`];
}
