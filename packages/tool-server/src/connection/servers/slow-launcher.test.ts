import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseConfiguration } from "../../config/parse-configuration.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { createScriptFolder, wordsOf } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createToolServers } from "./tool-servers.js";

/** Prints that it runs, then speaks the protocol once the file `downloaded` exists. */
const script = (folder: string) => `
  const { existsSync, writeFileSync } = require("node:fs");
  writeFileSync("${folder}/running", String(process.pid));
  const lines = [];
  const response = (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const result = { protocolVersion: params?.protocolVersion, capabilities: {}, serverInfo: { name: "n", version: "1" } };
    const more = method === "initialize" ? { result } : { error: { code: -32601, message: "no" } };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, ...more }));
  };
  let isReady = false;
  const timer = setInterval(() => {
    if (!existsSync("${folder}/downloaded")) return;
    clearInterval(timer);
    isReady = true;
    lines.forEach(response);
  }, 10);
  require("node:readline").createInterface({ input: process.stdin })
    .on("line", (line) => (isReady ? response(line) : lines.push(line)))
    .on("close", () => process.exit());`;

async function connect(command: string) {
  const folder = await createScriptFolder();
  await folder.node(script(folder.path), command);
  const secrets = createSecretRegistry();
  const clock = createFakeClock();
  const servers = createToolServers({
    configuration: parseConfiguration(JSON.stringify({ notes: { command } }), { secrets }),
    variables: { PATH: folder.path },
    pluginRoot: folder.path,
    secrets,
    assertTrusted: async () => {},
    settings: { info: { name: "test", version: "0" } },
    clock,
  });
  onTestFinished(() => servers.close());
  const connection = await servers.open("notes");
  const outcome = connection.connect().then(
    () => "connected",
    ({ code }: { code: string }) => code,
  );
  await wordsOf(join(folder.path, "running"));
  // The handshake has started once the clock has its timer.
  await expect.poll(() => clock.waiting).toBeGreaterThan(0);
  return { outcome, clock, finishDownload: () => writeFileSync(join(folder.path, "downloaded"), "") };
}

test.each(["npx", "uvx", "docker"])(
  "gives %s more time for the first handshake, to download the server",
  async (launcher) => {
    const { outcome, clock, finishDownload } = await connect(launcher);
    clock.advance(150_000);
    finishDownload();
    expect(await outcome).toBe("connected");
  },
);

test("gives a program that is not a launcher the usual time for the first handshake", async () => {
  const { outcome, clock } = await connect("server");
  clock.advance(31_000);
  expect(await outcome).toBe("CALL_TIMEOUT");
});
