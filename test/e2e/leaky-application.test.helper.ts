/**
 * A process that uses tool servers, all of which fail, and prints everything about them: published events, errors and Channelz data. It
 * ends with a crash.
 */
import { subscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { createRegistry, listenChannelz } from "@wirescope/channelz";
import { observeToolServers } from "@wirescope/instrument/tool-server";
import { type Connection, channels, createSecretRegistry, createToolServers } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";

const file = process.argv[2] ?? "";
const print = (what: string, value: unknown): void => {
  const shown = inspect(value, { depth: 12, showHidden: true, getters: true, maxStringLength: null });
  process.stdout.write(`${what}: ${shown}\n`);
};

for (const channel of Object.values(channels)) {
  subscribe(channel.name, (message) => {
    // A socket has no text; everything else is printed.
    const { socket: _, subject, ...facts } = message as Record<string, unknown>;
    const { socket: __, ...about } = (subject ?? {}) as Record<string, unknown>;
    print(`published on ${String(channel.name)}`, { facts, about });
  });
}
process.on("warning", (warning) => print("warning", warning));

const registry = createRegistry();
observeToolServers({ registry });
const listener = await listenChannelz(registry);

const secrets = createSecretRegistry();
const configuration = parseConfiguration(readFileSync(file, "utf8"), { secrets });
print("findings", configuration.findings);
const servers = createToolServers({
  configuration,
  variables: process.env,
  pluginRoot: process.cwd(),
  secrets,
  assertTrusted: async () => {},
  settings: { info: { name: "leaky", version: "1.0.0" } },
  connectTimeoutMs: 20_000,
});

let last: unknown;
const attempt = async (what: string, task: () => Promise<unknown>): Promise<void> => {
  try {
    await task();
    process.stdout.write(`${what}: done\n`);
  } catch (error) {
    last = new Error(`${what} failed`, { cause: error });
    print(what, error);
    print(`${what}, as JSON`, JSON.stringify(error));
    print(`${what}, by its stack`, error instanceof Error ? error.stack : undefined);
  }
};
const use = async (name: string): Promise<void> => {
  let connection: Connection | undefined;
  await attempt(`${name} opened`, async () => {
    connection = await servers.open(name);
    print("info", [connection.info, connection.info.credential()]);
  });
  if (connection === undefined) return;
  const opened = connection;
  await attempt(`${name} listed`, () => opened.listTools());
  for (const tool of opened.state === "READY" ? ["invalid", "refused", "progress", "cut"] : []) {
    await attempt(`${name} called ${tool}`, () => opened.callTool({ name: tool, arguments: {} }));
  }
  // During the backoff, and with the current descriptions.
  await attempt(`${name} pinged`, () => opened.ping({ idleTimeoutMs: 2000 }));
  print("credential", opened.info.credential());
};
await Promise.all(servers.entries.map(({ name }) => use(name)));

process.stdout.write(`[[channelz ${listener.address}]]\n`);
process.stdin.once("data", () => {
  setImmediate(() => {
    throw last;
  });
});
