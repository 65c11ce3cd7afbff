import { exitCode } from "../failure.js";
import { parseOptions } from "../options.js";
import { formatJson } from "../output/json.js";
import { createScreen } from "../output/screen.js";
import { jsonOf } from "../tool-server/json-of.js";
import { serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

// A walk begins at an entry, and the gateway that runs has none.
const { endpoint: _, ...options } = serverOptions;

/** Says why a server does not work, and what mends it. */
export const whyCommand: Command = {
  name: "why",
  summary: "say why a server does not work, and what mends it",
  parameters: ["<server>"],
  options,
  notes: [
    "It walks from the entry to the last refusal: variables, trust, helper, network, TLS, credential, sign-in, protocol.",
    "Nothing is changed: it connects, asks for the list of tools, and looks at metadata; an expired token is renewed.",
    "Nothing of an entry that is not trusted runs or connects. It exits with 0 where all is well, else with 1.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(options, args);
    const [server, unexpected] = positionals;
    if (server === undefined) throw new UsageError("why needs <server>.");
    if (unexpected !== undefined) throw new UsageError(`why takes no argument "${unexpected}".`);
    const screen = createScreen(io, values["no-color"]);
    // Loaded late: the commands that read Channelz start without it.
    const { openExplainableServers } = await import("../why/explain-configured.js");
    const servers = await openExplainableServers(values, io);
    try {
      const explanation = await servers.explain(server);
      if (values.json) screen.print(formatJson(jsonOf(explanation)));
      else {
        const { renderExplanation } = await import("../why/render-explanation.js");
        screen.printAll(renderExplanation(explanation, screen));
      }
      return explanation.isWell ? exitCode.ok : exitCode.failure;
    } finally {
      servers.close();
    }
  },
};
