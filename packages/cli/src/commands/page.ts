import { printableText } from "@wirescope/channelz/internal";
import { commonOptions } from "../options.js";
import { formatJson } from "../output/json.js";
import { createScreen } from "../output/screen.js";
import { type Command, defineCommand } from "./command.js";

const options = {
  ca: { type: "string", placeholder: "file", help: "also trust this CA certificate (PEM)" },
  json: { type: "boolean", help: "print JSON instead of text" },
  ...commonOptions,
} as const;

/** Prints a new link to the status page of the running gateway. */
export const pageCommand: Command = defineCommand(
  {
    name: "page",
    summary: "print a new link to the status page of the running gateway, or to the sign-in of a server",
    parameters: ["[server]"],
    options,
    notes: ["The link works once, within 10 minutes. The browser that opens it keeps access for 12 hours."],
  },
  async ({ values, positionals: [server], io }) => {
    const { requireGateway } = await import("../gateway-file.js");
    const running = await requireGateway(io.env);
    const { readPem } = await import("../tool-server/read-pem.js");
    const { requestLink } = await import("../up/pages/request-link.js");
    const link = await requestLink(running, server, readPem(values.ca, "--ca"));
    createScreen(io, values["no-color"]).print(values.json ? formatJson({ link }) : printableText(link));
    return 0;
  },
);
