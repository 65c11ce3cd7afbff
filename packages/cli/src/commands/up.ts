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
    "where they fail. Changes of the configuration are taken up without a restart.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(upOptions, args);
    if (positionals.length > 0) throw new UsageError(`up takes no argument "${positionals[0]}".`);
    // Loaded late: the commands that read Channelz start without it.
    const { runUp } = await import("../up/run-up.js");
    return runUp(values, io);
  },
};
