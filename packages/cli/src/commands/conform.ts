import { connectionOptions } from "../connection-options.js";
import { commonOptions } from "../options.js";
import { createScreen } from "../output/screen.js";
import { type Command, defineCommand } from "./command.js";

const { "no-corrections": _, ...rawConnectionOptions } = connectionOptions;

/** Checks Channelz endpoints against the specification, rule by rule. */
export const conformCommand: Command = defineCommand(
  {
    name: "conform",
    summary: "check a Channelz endpoint against the specification, rule by rule",
    options: {
      all: { type: "boolean", help: "also list the rules that passed or do not apply" },
      junit: { type: "string", placeholder: "file", help: "also write the result as a JUnit file, for CI" },
      ...rawConnectionOptions,
      json: { type: "boolean", help: "print JSON instead of text" },
      ...commonOptions,
    },
    notes: [
      "It only reads, one call at a time: at most 400 calls, 20 seconds and 20 objects of each kind.",
      "About 9 of the calls ask for ids that do not exist, or belong to another kind of object; the",
      "endpoint counts them as failed calls. It never sends a negative max_results.",
      "",
      "The ids are those of docs/requirements/channelz.md. Exit code 1: a rule of the specification",
      "is broken. Exit code 3: an endpoint could not be examined, or not completely.",
    ],
  },
  async ({ values, io }) => {
    const screen = createScreen(io, values["no-color"]);
    const { connectByOptions } = await import("../connect-by-options.js");
    const { examineTargets } = await import("../conform/examine-targets.js");
    await using connections = await connectByOptions({ ...values, "no-corrections": true }, io);
    const interruption = new AbortController();
    const onInterrupt = (): void => interruption.abort();
    process.once("SIGINT", onInterrupt);
    try {
      return await examineTargets({ parts: connections.parts, screen, values, signal: interruption.signal });
    } finally {
      process.removeListener("SIGINT", onInterrupt);
    }
  },
);
