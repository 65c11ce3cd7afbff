import { exitCode } from "../failure.js";
import { formatJson } from "../output/json.js";
import { jsonOf } from "../tool-server/json-of.js";
import { adminOptions, serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

const { config, profile, ca, json, "no-color": noColor, help } = serverOptions;
const options = { config, ...adminOptions, profile, ca, json, "no-color": noColor, help };

/** Turns the debug mode of the running gateway on or off. */
export const debugCommand: Command = defineAdminCommand({
  name: "debug",
  summary: "turn the debug mode of the running gateway on or off",
  parameters: ["<on|off>"],
  options,
  notes: [
    "In debug mode the log of the gateway, on its standard error, shows the headers that servers are sent, without their values,",
    "each step of OAuth, refreshes, sockets and errors. It holds no secrets. To start with it: wirescope up --debug.",
  ],
  isChange: () => true,
  check(_, [given]) {
    if (given !== "on" && given !== "off") throw new UsageError("debug needs on or off.");
  },
  async use({ admin, screen, values, positionals }) {
    const isOn = positionals[0] === "on";
    const before = await admin.setDebug(isOn);
    const where =
      "Its log, on its standard error, shows headers without their values, each step of OAuth and refreshes.";
    if (values.json) screen.print(formatJson(jsonOf({ gateway: admin.gateway, debug: isOn, before })));
    else screen.print(`Debug mode of the gateway at ${admin.gateway} is ${isOn ? `on. ${where}` : "off."}`);
    return exitCode.ok;
  },
});
