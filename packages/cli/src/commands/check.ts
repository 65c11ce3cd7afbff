import { checkOptions } from "../check/check-options.js";
import { parseOptions } from "../options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

/** Reads a configuration of tool servers and says all that is wrong with it. */
export const checkCommand: Command = {
  name: "check",
  summary: "say all that is wrong with a configuration of tool servers",
  parameters: ["[file]"],
  options: checkOptions,
  notes: [
    "Without a file, it is .mcp.json here or, in a git repository, in a directory above.",
    "Without --live nothing of it is run, and nothing is connected to. Secrets are never printed.",
    "It exits with 1 where there are errors; warnings and notes alone are 0, unless --strict says otherwise.",
    "With --live it also exits with 1 where a server does not meet what the protocol demands.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(checkOptions, args);
    if (positionals.length > 1) throw new UsageError(`check takes no argument "${positionals[1]}".`);
    // Loaded late: the commands that read Channelz start without it.
    const { runCheck } = await import("../check/run-check.js");
    return runCheck(positionals[0], values, io);
  },
};
