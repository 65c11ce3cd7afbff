import { parseOptions } from "../options.js";
import { adminOptions, serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

const { config, profile, ca, json, "no-color": noColor, help } = serverOptions;
const options = { config, ...adminOptions, profile, ca, json, "no-color": noColor, help };

/** Turns the debug mode of the running gateway on or off. */
export const debugCommand: Command = {
  name: "debug",
  summary: "turn the debug mode of the running gateway on or off",
  parameters: ["<on|off>"],
  options,
  notes: [
    "In debug mode the log of the gateway, on its standard error, shows the headers that servers are sent, without their values,",
    "each step of OAuth, refreshes, sockets and errors. It holds no secrets. To start with it: wirescope up --debug.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(options, args);
    const [given, unexpected] = positionals;
    if (unexpected !== undefined) throw new UsageError(`debug takes no argument "${unexpected}".`);
    if (given !== "on" && given !== "off") throw new UsageError("debug needs on or off.");
    // Loaded late: the commands that read Channelz start without it.
    const { openAdmin } = await import("../admin/admin-at-hand.js");
    const gateway = await openAdmin(values, io, { isChange: true });
    if (gateway === undefined) {
      throw new UsageError(
        "No gateway of yours runs with this configuration. Start one: wirescope up --debug; or use the one that runs: --endpoint.",
      );
    }
    const { setDebugThrough } = await import("../admin/set-debug-through.js");
    return setDebugThrough(gateway, given === "on", values, io);
  },
};
