// The client that the suite starts: node client.js <url of the server>, with the scenario in the environment.

import { createSecretRegistry, createToolServers } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { oauthSettingsOf } from "./oauth-settings.js";
import { scenarios, useEverything } from "./scenarios.js";

const url = process.argv.at(-1) ?? "";
const { MCP_CONFORMANCE_SCENARIO: name = "", MCP_CONFORMANCE_CONTEXT: context = "null" } = process.env;

const given = JSON.parse(context);
const secrets = createSecretRegistry();
const configuration = parseConfiguration(JSON.stringify({ suite: { type: "http", url } }), {
  allowInsecureLoopback: true,
  secrets,
});
const servers = createToolServers({
  configuration,
  variables: {},
  pluginRoot: process.cwd(),
  secrets,
  assertTrusted: async () => {},
  oauth: oauthSettingsOf(name, given ?? {}),
  settings: {
    info: { name: "wirescope-conformance", version: "0.1.0" },
    capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
    prepare(client) {
      client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: {} }));
      client.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///example", name: "example" }] }));
      client.setRequestHandler("sampling/createMessage", async () => ({
        model: "example",
        role: "assistant",
        content: { type: "text", text: "An example." },
      }));
    },
  },
});
try {
  const connection = await servers.open("suite");
  await connection.connect();
  await (scenarios[name] ?? useEverything)(connection, given);
} finally {
  await servers.close();
}
