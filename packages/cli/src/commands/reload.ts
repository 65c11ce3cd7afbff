import { printableText } from "@wirescope/channelz/internal";
import { exitCode } from "../failure.js";
import { formatJson } from "../output/json.js";
import { jsonOf } from "../tool-server/json-of.js";
import { adminOptions, serverOptions } from "../tool-server/server-options.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

const { config, profile, ca, json, "no-color": noColor, help } = serverOptions;
const options = { config, ...adminOptions, profile, ca, json, "no-color": noColor, help };

/** Makes the running gateway read its configuration again. */
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
