import { printableText } from "@wirescope/channelz/internal";
import type { ServerReport } from "@wirescope/gateway/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { exitCode } from "../failure.js";
import { formatJson, jsonOf } from "../output/json.js";
import { serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

const { config, endpoint, profile, ca, json, "no-color": noColor, help } = serverOptions;
const options = { config, endpoint, profile, ca, json, "no-color": noColor, help };

/** Makes the running gateway connect to servers now. */
export const reconnectCommand: Command = defineAdminCommand({
  name: "reconnect",
  summary: "make the running gateway connect now to one server, or to all that are not connected",
  parameters: ["[server]"],
  options,
  notes: [
    "The gateway also retries by itself, with a backoff of up to 30 s, or 5 minutes if the server refused the connection.",
    "The exit code is 0 if all these servers are connected and list their tools, else 1.",
  ],
  isChange: () => true,
  needsGateway: true,
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
    return servers.every(works) ? exitCode.ok : exitCode.failure;
  },
});

/** Makes the running gateway reload its configuration. */
export const reloadCommand: Command = defineAdminCommand({
  name: "reload",
  summary: "make the running gateway reload its configuration",
  parameters: [],
  options,
  notes: [
    "The gateway reloads by itself when a file changes. Use this in scripts, or if the file system does not report changes.",
    "It waits until the new configuration is in use. If that is invalid, the exit code is 1 or 2 and nothing changes.",
  ],
  isChange: () => true,
  needsGateway: true,
  async use({ admin, screen, values }) {
    const servers = await admin.reload();
    if (values.json) screen.print(formatJson(jsonOf({ gateway: admin.gateway, servers })));
    else {
      const list = servers.length === 0 ? "none" : servers.join(", ");
      screen.print(printableText(`The gateway at ${admin.gateway} reloaded its configuration. Servers: ${list}.`));
    }
    return exitCode.ok;
  },
});

/** Turns debug logging of the running gateway on or off. */
export const debugCommand: Command = defineAdminCommand({
  name: "debug",
  summary: "turn debug logging of the running gateway on or off",
  parameters: ["<on|off>"],
  options,
  notes: [
    "With debug logging, the gateway logs to its standard error: headers sent to servers (without values), OAuth steps,",
    "token refreshes, sockets and errors. The log contains no secrets. To enable it from the start: wirescope up --debug.",
  ],
  isChange: () => true,
  needsGateway: true,
  check(_, [given]) {
    if (given !== "on" && given !== "off") throw new UsageError("debug requires on or off.");
  },
  async use({ admin, screen, values, positionals }) {
    const isOn = positionals[0] === "on";
    const before = await admin.setDebug(isOn);
    const where = "It logs headers (without values), OAuth steps and token refreshes to its standard error.";
    if (values.json) screen.print(formatJson(jsonOf({ gateway: admin.gateway, debug: isOn, before })));
    else screen.print(`Debug logging of the gateway at ${admin.gateway} is ${isOn ? `on. ${where}` : "off."}`);
    return exitCode.ok;
  },
});

function failureOf({ failure }: ServerReport): { code: string | undefined; message: string } | undefined {
  return failure && { code: failure.code, message: failure.message };
}

/** A server that is connected has a failure if its tools cannot be listed. */
function works({ isConnected, failure }: ServerReport): boolean {
  return isConnected && failure === undefined;
}

function linesOf(server: ServerReport): string[] {
  const { name, isConnected, description } = server;
  if (works(server)) return [`${name} is connected: ${description.name} ${description.version}`.trimEnd()];
  const reason = failureOf(server)?.message ?? "";
  const problem = isConnected ? "is connected, but its tools cannot be listed" : "is not connected";
  return [`${name} ${problem}. ${reason}`.trimEnd(), `  Next: ${commandLine("why", name)}`];
}
