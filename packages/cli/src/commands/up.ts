import { parseOptions } from "../options.js";
import { upOptions } from "../up/up-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

/** Runs the gateway. */
export const upCommand: Command = {
  name: "up",
  summary: "run the gateway: all MCP servers at one endpoint, with Channelz on the same port",
  parameters: [],
  options: upOptions,
  notes: [
    "Clients send the printed token: Authorization: Bearer <token>. The gateway connects to all servers at once and",
    "reconnects when a connection fails. Changes to the configuration, and to tool filters in the settings file, apply",
    "without a restart; changed limits apply after one. See docs/gateway.md for TLS, settings, logs, audit and metrics.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(upOptions, args);
    if (positionals.length > 0) throw new UsageError(`up does not take the argument "${positionals[0]}".`);
    // Loaded late: the commands that read Channelz start without it.
    const { runUp } = await import("../up/run-up.js");
    return runUp(values, io);
  },
};
