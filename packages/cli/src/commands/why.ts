import { exitCode } from "../failure.js";
import { formatJson } from "../output/json.js";
import { jsonOf } from "../tool-server/json-of.js";
import { adminOptions, serverOptions } from "../tool-server/server-options.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

/** Says why a server does not work, and how to fix it. */
export const whyCommand: Command = defineAdminCommand({
  name: "why",
  summary: "say why a server does not work, and how to fix it",
  parameters: ["<server>"],
  options: { ...serverOptions, ...adminOptions },
  notes: [
    "It walks from the entry to the last refusal: variables, trust, helper, network, TLS, credential, sign-in, protocol.",
    "Nothing is changed: it connects, asks for the list of tools, and looks at metadata; an expired token is renewed.",
    "Where a gateway runs with the same configuration, it walks, with its values, its tokens and what it saw last.",
    "Nothing of an entry that is not trusted runs or connects. It exits with 0 where all is well, else with 1.",
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
