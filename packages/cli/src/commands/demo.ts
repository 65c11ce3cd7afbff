import { parseOptions } from "../options.js";
import { upOptions } from "../up/up-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

/** Runs the gateway on the demonstration. */
export const demoCommand: Command = {
  name: "demo",
  summary: "run the gateway with demonstration servers",
  parameters: [],
  options: upOptions,
  async run(args, io) {
    const { values, positionals } = parseOptions(upOptions, args);
    if (positionals.length > 0) throw new UsageError(`demo does not take the argument "${positionals[0]}".`);
    const { runUp } = await import("../up/run-up.js");
    return runUp({ ...values, demo: true }, io);
  },
};
