import { checkOptions } from "../check/check-options.js";
import { UsageError } from "../usage-error.js";
import { type Command, defineCommand } from "./command.js";

/** Validates a configuration file. */
export const checkCommand: Command = defineCommand(
  {
    name: "check",
    summary: "validate an MCP configuration file",
    parameters: ["[file]"],
    options: checkOptions,
    notes: [
      "The default file is .mcp.json in this folder or, in a git repository, in a parent folder.",
      "Without --live, check runs no program and makes no connection. It never prints secrets.",
      "The exit code is 1 if there are errors, or warnings with --strict.",
      "With --live it is also 1 if a server violates the protocol.",
    ],
  },
  async ({ values, positionals, io }) => {
    // Loaded late: the commands that read Channelz start without it.
    const { runCheck } = await import("../check/run-check.js");
    return runCheck(positionals[0], values, io);
  },
  (values) => {
    const given = liveOptions.find((name) => values[name] !== undefined && values[name] !== false);
    if (given !== undefined && !values.live) throw new UsageError(`--${given} requires --live.`);
  },
);

const liveOptions = ["allow-insecure-loopback", "trust", "ca", "timeout", "debug"] as const;
