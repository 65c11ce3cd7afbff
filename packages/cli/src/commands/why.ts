import type { Explanation } from "@wirescope/tool-server";
import { exitCode } from "../failure.js";
import type { Io } from "../io.js";
import { type OptionValues, parseOptions } from "../options.js";
import { formatJson } from "../output/json.js";
import { createScreen } from "../output/screen.js";
import { jsonOf } from "../tool-server/json-of.js";
import { adminOptions, serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

const options = { ...serverOptions, ...adminOptions };

/** Says why a server does not work, and how to fix it. */
export const whyCommand: Command = {
  name: "why",
  summary: "say why a server does not work, and how to fix it",
  parameters: ["<server>"],
  options,
  notes: [
    "It walks from the entry to the last refusal: variables, trust, helper, network, TLS, credential, sign-in, protocol.",
    "Nothing is changed: it connects, asks for the list of tools, and looks at metadata; an expired token is renewed.",
    "Where a gateway runs with the same configuration, it walks, with its values, its tokens and what it saw last.",
    "Nothing of an entry that is not trusted runs or connects. It exits with 0 where all is well, else with 1.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(options, args);
    const [server, unexpected] = positionals;
    if (server === undefined) throw new UsageError("why needs <server>.");
    if (unexpected !== undefined) throw new UsageError(`why takes no argument "${unexpected}".`);
    const { explanation, safeIo } = await explain(server, values, io);
    const screen = createScreen(safeIo, values["no-color"]);
    if (values.json) screen.print(formatJson(jsonOf(explanation)));
    else {
      const { renderExplanation } = await import("../why/render-explanation.js");
      screen.printAll(renderExplanation(explanation, screen));
    }
    return explanation.isWell ? exitCode.ok : exitCode.failure;
  },
};

/** What a walk found, and where that is printed. */
interface Explained {
  readonly explanation: Explanation;
  readonly safeIo: Io;
}

/** Walked by the gateway that runs, where the command is about it: it knows what it saw last. */
async function explain(server: string, values: OptionValues<typeof options>, io: Io): Promise<Explained> {
  const { openAdmin } = await import("../admin/admin-at-hand.js");
  // An explanation may start a program, so the gateway requires the administrator's token for it.
  const gateway = await openAdmin(values, io, { isChange: true });
  if (gateway !== undefined) {
    const { explainThrough } = await import("../admin/explain-through.js");
    // The gateway has taken its secrets out; none is known here.
    return { explanation: await explainThrough(gateway, server), safeIo: io };
  }
  // Loaded late: the commands that read Channelz start without it.
  const { openExplainableServers } = await import("../why/explain-configured.js");
  const servers = await openExplainableServers(values, io);
  try {
    return { explanation: await servers.explain(server), safeIo: servers.io };
  } finally {
    servers.close();
  }
}
