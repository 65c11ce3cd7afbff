import { onTestFinished } from "vitest";
import { parseConfiguration } from "../../config/parse-configuration.js";
import { createFakeClock, type FakeClock } from "../../fake-clock.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { Connection } from "../connection.js";
import { createToolServers } from "./tool-servers.js";

/** Opens a connection that reconnects by itself to the server of an entry, with a clock that only the test advances. */
export async function openEagerConnection(entry: object): Promise<{ connection: Connection; clock: FakeClock }> {
  const secrets = createSecretRegistry();
  const clock = createFakeClock();
  const servers = createToolServers({
    configuration: parseConfiguration(JSON.stringify({ tool: entry }), { secrets }),
    variables: { PATH: process.env.PATH },
    pluginRoot: "/",
    secrets,
    assertTrusted: async () => {},
    isEager: true,
    clock,
    settings: { info: { name: "test", version: "0" } },
  });
  onTestFinished(() => servers.close());
  return { connection: await servers.open("tool"), clock };
}
