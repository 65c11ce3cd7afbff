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
  summary: "turn debug logging of the running gateway on or off",
  parameters: ["<on|off>"],
  options,
  notes: [
    "With debug logging, the gateway logs to its standard error: headers sent to servers (without values), OAuth steps,",
    "token refreshes, sockets and errors. The log contains no secrets. To enable it from the start: wirescope up --debug.",
  ],
  isChange: () => true,
  check(_, [given]) {
    if (given !== "on" && given !== "off") throw new UsageError("debug requires on or off.");
  },
  async use({ admin, screen, values, positionals }) {
    const isOn = positionals[0] === "on";
    const before = await admin.setDebug(isOn);
    const where = "It logs headers (without values), OAuth steps and token refreshes to its standard error.";
    if (values.json) screen.print(formatJson(jsonOf({ gateway: admin.gateway, debug: isOn, before })));
    else screen.print(`Debug logging of the gateway at ${admin.gateway} is ${isOn ? `on. ${where}` : "off."}`);
    return exitCode.ok;
  },
});
