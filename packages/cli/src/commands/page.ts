import { printableText } from "@wirescope/channelz/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { connectionOptions } from "../connection-options.js";
import type { Io } from "../io.js";
import { commonOptions, type OptionValues } from "../options.js";
import { formatJson } from "../output/json.js";
import { createScreen } from "../output/screen.js";
import { serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import { type Command, defineCommand } from "./command.js";

const options = {
  ...connectionOptions,
  target: { ...connectionOptions.target, help: `${connectionOptions.target.help.split(";", 1)[0]}` },
  port: { type: "string", placeholder: "port", help: "with --target: port of the page on 127.0.0.1; default: any" },
  config: serverOptions.config,
  endpoint: { type: "boolean", help: "use the running gateway, whatever configuration it serves" },
  open: { type: "boolean", help: "open the link in the browser" },
  "read-only": { type: "boolean", help: "print a link that can only read" },
  json: { type: "boolean", help: "print JSON instead of text" },
  ...commonOptions,
} as const;

/** Prints a new link to the page of the running gateway, or serves the page of other processes. */
export const pageCommand: Command = defineCommand(
  {
    name: "page",
    summary:
      "print a new link to the page of the running gateway, or serve the page for any process that speaks Channelz",
    parameters: ["[server]"],
    options,
    notes: [
      "The gateway is the one that serves the configuration of this folder, or any if there is none here.",
      "With a server, the link starts the sign-in to it.",
      "The link works once, within 10 minutes. The browser that opens it keeps access for 12 hours.",
      "With --target, the page runs on this machine until Ctrl-C. The targets are read only while a browser shows it.",
    ],
  },
  async ({ values, positionals: [server], io }) => {
    if (values.target.length > 0) {
      if (server !== undefined) throw new UsageError("A server and --target cannot be used together.");
      return servePage(values, io);
    }
    if (server !== undefined && values["read-only"]) {
      throw new UsageError("A server and --read-only cannot be used together: a sign-in changes something.");
    }
    if (values.port !== undefined) throw new UsageError("--port requires --target.");
    const { findRunningGateway } = await import("../admin/open-admin.js");
    const running = await findRunningGateway(values, io, { isChange: false, needsGateway: true });
    if (running === undefined) {
      const next = `Start one: ${commandLine("up")}. Options: --endpoint for any running gateway; --config <file>.`;
      throw new UsageError("No gateway is running with this configuration.", { next });
    }
    const { readPem } = await import("../tool-server/read-pem.js");
    const { requestLink } = await import("../up/pages/request-link.js");
    const ca = readPem(values.ca, "--ca");
    const link = await requestLink(running, { server, isReadOnly: values["read-only"], ca });
    createScreen(io, values["no-color"]).print(values.json ? formatJson({ link }) : printableText(link));
    if (values.open) {
      const { openBrowser } = await import("@wirescope/tool-server/internal");
      if (!(await openBrowser(link, io))) io.stderr.write("wirescope: No browser could be opened. Open the link.\n");
    }
    return 0;
  },
);

async function servePage(values: OptionValues<typeof options>, io: Io): Promise<number> {
  const { connectByOptions, printNotes } = await import("../connect-by-options.js");
  const { serveTargetPage } = await import("../page/serve-target-page.js");
  await using connections = await connectByOptions(values, io);
  printNotes(connections, io);
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  try {
    return await serveTargetPage(connections, values, io, stop.signal);
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}
