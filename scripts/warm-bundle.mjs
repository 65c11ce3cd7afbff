// Keeps what V8 makes of the bundle in a folder: runs the gateway with one server behind it, until a client has its tools.
// node scripts/warm-bundle.mjs <folder>

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import v8 from "node:v8";
import { loadBundle } from "../packages/cli/bin/load-bundle.js";

// What is kept fits the flags that V8 has when it is kept, and is needed before the command changes one.
v8.setFlagsFromString = () => {};

const file = join(process.argv[2] ?? "", "wirescope.cjs");
const home = mkdtempSync(join(tmpdir(), "wirescope-warm-"));
const { exports: command, script } = loadBundle(file);

const results = {
  initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
  "tools/list": { tools: [{ name: "t", inputSchema: { type: "object" } }] },
};
const server = createServer(async (request, response) => {
  const { id, method } = JSON.parse((await text(request)) || "{}");
  const result = results[method];
  if (id === undefined || result === undefined) return void response.writeHead(id === undefined ? 202 : 400).end();
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

try {
  const config = join(home, "mcp.json");
  writeFileSync(config, JSON.stringify({ s: { type: "http", url: `http://127.0.0.1:${server.address().port}/mcp` } }));
  const [printed, told] = [[], []];
  const running = command.main(
    ["up", "--config", config, "--port", "0", "--trust", "--allow-insecure-loopback", "--log", "off", "--json"],
    {
      stdout: { write: (words) => void printed.push(words) },
      stderr: { write: (words) => void told.push(words) },
      now: () => new Date(),
      env: { HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home, XDG_RUNTIME_DIR: home, PATH: process.env.PATH },
    },
  );
  const ended = running.then(() => {
    throw new Error(`The gateway did not start. ${told.join("")}`);
  });
  while (printed.length === 0) await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5))]);
  const { endpoint, token } = JSON.parse(printed.join(""));
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const post = (message, more = {}) =>
    fetch(endpoint, {
      method: "POST",
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "warm", version: "1" } };
  const session = (await post({ id: 1, method: "initialize", params })).headers.get("mcp-session-id");
  const listed = await post({ id: 2, method: "tools/list" }, { "mcp-session-id": session });
  if (!(await listed.text()).includes("inputSchema")) throw new Error("The gateway listed no tools.");
  writeFileSync(`${file}.cache`, script.createCachedData());
} finally {
  rmSync(home, { recursive: true, force: true });
}
process.exit();
