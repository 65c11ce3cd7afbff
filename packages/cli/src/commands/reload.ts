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
  summary: "make the running gateway read its configuration again",
  parameters: [],
  options,
  notes: [
    "The gateway does that by itself when a file changes; this helps if the file system does not report changes, and in scripts:",
    "it ends when the new configuration is in use, and exits with 1 or 2 if that cannot be read. The servers stay then as they are.",
  ],
  isChange: () => true,
  async use({ admin, screen, values }) {
    const servers = await admin.reload();
    if (values.json) screen.print(formatJson(jsonOf({ gateway: admin.gateway, servers })));
    else {
      const list = servers.length === 0 ? "none" : servers.join(", ");
      screen.print(
        printableText(`The gateway at ${admin.gateway} has read its configuration again. Servers: ${list}.`),
      );
    }
    return exitCode.ok;
  },
});
