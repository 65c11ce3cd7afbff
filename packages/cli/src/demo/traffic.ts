import { setTimeout as pause } from "node:timers/promises";
import type { Gateway } from "@wirescope/gateway";
import { createSecretRegistry, createToolServers, ToolServerError } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";

const pauseMs = 2000;
const calls = [
  { name: "clock__now", arguments: {} },
  { name: "weather__forecast", arguments: { city: "Bern" } },
  { name: "clock__until", arguments: { date: "2030-01-01" } },
  { name: "notes__list", arguments: {} },
];

/** A client of the gateway that calls a tool every now and then, until it is told to stop. What fails is part of the show. */
export async function keepCalling({ endpoint, token }: Gateway, stop: AbortSignal): Promise<void> {
  if (endpoint === undefined) return;
  const secrets = createSecretRegistry();
  const entry = { type: "http", url: endpoint, headers: { Authorization: "Bearer ${GATEWAY_TOKEN}" } };
  const servers = createToolServers({
    configuration: parseConfiguration(JSON.stringify({ visitor: entry }), { allowInsecureLoopback: true, secrets }),
    variables: { GATEWAY_TOKEN: token ?? "none" },
    pluginRoot: process.cwd(),
    secrets,
    assertTrusted: async () => {},
    settings: { info: { name: "visitor", version: "1.0.0" } },
  });
  try {
    const connection = await servers.open("visitor");
    for (let count = 0; !stop.aborted; count += 1) {
      await connection
        .callTool(calls[count % calls.length] ?? { name: "" }, { signal: stop })
        .catch((error: unknown) => {
          if (!ToolServerError.is(error)) throw error;
        });
      await pause(pauseMs, undefined, { signal: stop }).catch(() => {});
    }
  } finally {
    await servers.close();
  }
}
