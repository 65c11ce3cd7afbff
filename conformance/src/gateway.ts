// Our gateway before one server of Streamable HTTP, whose url is the first argument, and the era of the server the second, for the suite to look at: without prefixes, for the
// suite calls tools by their names, and without a token, for the suite has none.
//
// Listens on a free port of this machine, and says the url of its endpoint as the one line of its standard output.

import { startGateway } from "@wirescope/gateway";
import { trustAll } from "@wirescope/tool-server";
import { createConfiguration } from "@wirescope/tool-server/config";

const [url = "", era] = process.argv.slice(2);
const gateway = await startGateway({
  configuration: createConfiguration({ everything: { url } }),
  trust: trustAll(),
  isUnprefixed: true,
  servers: { everything: { era: era === "legacy" ? "legacy" : "auto" } },
  listen: { token: false },
  onEvent(event) {
    if (event.kind === "defect") process.stderr.write(`${event.reason}\n`);
    // Lists are whole from then on.
    if (event.kind === "server-state" && event.state === "READY") process.stdout.write(`${gateway.endpoint}\n`);
  },
});
process.once("SIGTERM", () => void gateway.close({ graceMs: 0 }));
