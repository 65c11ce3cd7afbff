import { parseOptions } from "../options.js";
import { adminOptions, serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

const { config, profile, ca, json, "no-color": noColor, help } = serverOptions;
const options = { config, ...adminOptions, profile, ca, json, "no-color": noColor, help };

/** Makes the running gateway connect to servers now. */
export const reconnectCommand: Command = {
  name: "reconnect",
  summary: "make the running gateway connect to a server now, or to all servers that are not connected",
  parameters: ["[server]"],
  options,
  notes: [
    "The gateway tries by itself too, after delays that grow to 30 s, and to 5 minutes after a refusal.",
    "It exits with 0 if all these servers are connected, else with 1.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(options, args);
    const [server, unexpected] = positionals;
    if (unexpected !== undefined) throw new UsageError(`reconnect takes no argument "${unexpected}".`);
    // Loaded late: the commands that read Channelz start without it.
    const { openAdmin } = await import("../admin/admin-at-hand.js");
    const gateway = await openAdmin(values, io, { isChange: true });
    if (gateway === undefined) {
      throw new UsageError(
        "No gateway of yours runs with this configuration. Start one: wirescope up; or use the one that runs: --endpoint.",
      );
    }
    const { reconnectThrough } = await import("../admin/reconnect-through.js");
    return reconnectThrough(gateway, server, values, io);
  },
};
