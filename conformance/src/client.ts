// The client that the suite starts: node client.js <url of the server>, with the scenario in the environment.

import { connectToolServer } from "@wirescope/tool-server";
import { oauthSettingsOf } from "./oauth-settings.js";
import { scenarios, useEverything } from "./scenarios.js";

const url = process.argv.at(-1) ?? "";
const { MCP_CONFORMANCE_SCENARIO: name = "", MCP_CONFORMANCE_CONTEXT: context = "null" } = process.env;

const given = JSON.parse(context);
// The suite counts requests, so only the transport that it has is tried.
await using connection = await connectToolServer(
  { url, type: "http" },
  {
    name: "suite",
    oauth: oauthSettingsOf(name, given ?? {}),
    client: {
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
  },
);
await (scenarios[name] ?? useEverything)(connection, given);
