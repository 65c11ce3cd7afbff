import { parseOptions } from "../options.js";
import { upOptions } from "../up/up-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

/** Runs the gateway. */
export const upCommand: Command = {
  name: "up",
  summary: "run the gateway: all tool servers at one endpoint, with Channelz on the same port",
  parameters: [],
  options: upOptions,
  notes: [
    "Clients send the token that is printed: Authorization: Bearer <token>. Servers are connected at once, and again",
    "where they fail. Changes of the configuration, and of tools in the settings, are taken up without a restart; limits",
    "count from the start. docs/gateway.md of the repository says more: TLS, settings, logs, audit, health, metrics.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(upOptions, args);
    if (positionals.length > 0) throw new UsageError(`up takes no argument "${positionals[0]}".`);
    // Loaded late: the commands that read Channelz start without it.
    const { runUp } = await import("../up/run-up.js");
    return runUp(values, io);
  },
};
