import { exitCode } from "../failure.js";
import { formatJson, jsonOf } from "../output/json.js";
import { adminOptions, serverOptions } from "../tool-server/server-options.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

/** Diagnoses a failing server and suggests a fix. */
export const whyCommand: Command = defineAdminCommand({
  name: "why",
  summary: "diagnose a failing server and suggest a fix",
  parameters: ["<server|url>"],
  serverAt: 0,
  options: { ...serverOptions, ...adminOptions },
  notes: [
    "It checks each step of the connection: variables, trust, helper, network, TLS, credential, sign-in, protocol.",
    "It changes nothing: it connects, lists the tools and reads metadata. An expired token is refreshed.",
    "If a gateway is running with the same configuration, the gateway runs the checks, with its variables and tokens.",
    "It neither runs nor connects to a server that is not trusted. The exit code is 0 if the server works, else 1.",
  ],
  // An explanation may start a program, so the gateway requires the administrator's token for it.
  isChange: () => true,
  async use({ admin, screen, values, positionals }) {
    const explanation = await admin.explain(positionals[0] ?? "");
    if (values.json) screen.print(formatJson(jsonOf(explanation)));
    else {
      const { renderExplanation } = await import("../why/render-explanation.js");
      screen.printAll(renderExplanation(explanation, screen));
    }
    return explanation.isWell ? exitCode.ok : exitCode.failure;
  },
});
