import { upOptions } from "../up/up-options.js";
import { type Command, defineCommand } from "./command.js";

/** Runs the gateway. */
export const upCommand: Command = defineCommand(
  {
    name: "up",
    summary: "run the gateway: all MCP servers at one endpoint, with Channelz on the same port",
    parameters: [],
    options: upOptions,
    notes: [
      "Clients send the token: Authorization: Bearer <token>. The gateway connects to all servers at once and",
      "reconnects when a connection fails. Changes to the configuration, and to tool filters in the settings file, apply",
      "without a restart; changed limits apply after one. See docs/gateway.md for TLS, settings, logs, audit and metrics.",
    ],
  },
  async ({ values, io }) => {
    // Loaded late: the commands that read Channelz start without it.
    const { runUp } = await import("../up/run-up.js");
    return runUp(values, io);
  },
);

/** Runs the gateway with the demonstration servers. */
export const demoCommand: Command = defineCommand(
  {
    name: "demo",
    summary: "run the gateway with demonstration servers",
    parameters: [],
    options: upOptions,
  },
  async ({ values, io }) => {
    const { runUp } = await import("../up/run-up.js");
    return runUp({ ...values, demo: true }, io);
  },
);
