import { chmod, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../version.js";
import type { HttpToolServer } from "./servers/http-tool-server.js";
import { expiredToken, startLedgerServer } from "./servers/ledger-server.js";
import { startDemoAuthorizationServer, startNotesServer } from "./servers/notes-server.js";
import { startWeatherServer } from "./servers/weather-server.js";

/** Tool servers of every kind on this machine, with a configuration in a temporary folder. */
export interface Demo {
  readonly root: string;
  /** Its configuration. */
  readonly file: string;
  /** The variables that it needs. */
  readonly variables: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Signs the time, for servers that accept no fixed token. The key is in its environment. */
const helper = `#!/usr/bin/env node
const { createHmac } = require("node:crypto");
const time = String(Date.now());
const signature = createHmac("sha256", process.env.WEATHER_KEY).update(time).digest("hex");
console.log(JSON.stringify({ "X-Timestamp": time, "X-Signature": signature }));
`;

/** Starts the servers and writes their configuration. */
export async function startDemo(): Promise<Demo> {
  const authorization = await startDemoAuthorizationServer();
  const weather = await startWeatherServer();
  const [notes, ledger] = await Promise.all([startNotesServer(authorization), startLedgerServer()]);
  const servers: readonly Pick<HttpToolServer, "close">[] = [weather, notes, ledger, authorization];
  const root = await realpath(await mkdtemp(join(tmpdir(), "wirescope-demo-")));
  const file = join(root, ".mcp.json");
  const clock = fileURLToPath(new URL("dist/demo/servers/clock-server.js", packageRoot));
  const entries = {
    clock: { command: process.execPath, args: [clock] },
    weather: { type: "http", url: weather.url, headersHelper: "${HOST_PLUGIN_ROOT}/sign-weather.cjs" },
    notes: { type: "http", url: notes.url },
    ledger: { type: "http", url: ledger.url, headers: { Authorization: "Bearer ${LEDGER_TOKEN}" } },
  };
  await writeFile(file, `${JSON.stringify({ mcpServers: entries }, null, 2)}\n`);
  await writeFile(join(root, "sign-weather.cjs"), helper);
  await chmod(join(root, "sign-weather.cjs"), 0o755);
  return {
    root,
    file,
    variables: { WEATHER_KEY: weather.key, LEDGER_TOKEN: expiredToken() },
    async close() {
      await Promise.all(servers.map((server) => server.close()));
      await rm(root, { recursive: true, force: true });
    },
  };
}
