import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { createUserFolder, runCommand, type StartedGateway, startGateway } from "./command.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 50 };

/** A server with one tool, `whose`, that says which value of NOTES_OWNER its gateway was started with. */
const serverSource = `
  const results = {
    initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1" } },
    "tools/list": { tools: [{ name: "whose", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: process.env.OWNER }] },
  };
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const result = results[method];
    const outcome = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
  });`;

interface World {
  /** Starts the gateway as a user does, in a shell that has the variable. */
  up(): Promise<StartedGateway>;
  /** Starts what `install` wrote for a client, in an environment without the variable. */
  connect(...more: string[]): Promise<Client>;
}

/** A user with an approved server, and a client in which the gateway is installed. */
async function createWorld(owner: string): Promise<World> {
  const { folder, home, file, configure } = createUserFolder();
  const script = join(folder, "server.cjs");
  writeFileSync(script, serverSource);
  configure({ notes: { command: process.execPath, args: [script], env: { OWNER: owner } } });
  mkdirSync(join(home, ".cursor"));
  const { PATH = "", XDG_CACHE_HOME = "" } = process.env;
  const env = { HOME: home, PATH, XDG_CACHE_HOME };
  const run = (...argv: string[]) => runCommand([...argv, "--yes", "--config", file], { env });
  expect(await run("trust", "notes")).toMatchObject({ code: 0 });
  expect(await run("install", "cursor")).toMatchObject({ code: 0 });
  const { command, args } = JSON.parse(readFileSync(join(home, ".cursor/mcp.json"), "utf8")).mcpServers.wirescope;
  return {
    up: () =>
      startGateway(["--port", "0", "--log", "off", "--config", file], {
        cwd: folder,
        env: { ...env, NOTES_OWNER: "of the shell" },
      }),
    async connect(...more) {
      const client = new Client({ name: "an editor", version: "1" }, { versionNegotiation: { mode: "legacy" } });
      await client.connect(
        new StdioClientTransport({ command, args: [...args, ...more], env, cwd: folder, stderr: "ignore" }),
      );
      onTestFinished(() => client.close());
      return client;
    },
  };
}

/** What the tool says; the message of the failure if it cannot be called. */
async function whose(client: Client): Promise<string> {
  try {
    const { content } = await client.callTool({ name: "notes__whose", arguments: {} });
    const [block] = content;
    return block?.type === "text" ? block.text : "";
  } catch (error) {
    return String(error);
  }
}

const variable = "${NOTES_OWNER:-of nobody}";

test("uses the running gateway of its configuration, with the variables of that gateway, or its own with --standalone", async () => {
  const world = await createWorld(variable);
  await world.up();
  const client = await world.connect();
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["notes__whose"]);
  expect(await whose(client)).toBe("of the shell");
  expect(await whose(await world.connect("--standalone"))).toBe("of nobody");
});

test("names the unavailable servers in the instructions of the first handshake if no gateway runs", async () => {
  const world = await createWorld("${NOTES_OWNER}");
  const client = await world.connect();
  expect(client.getInstructions()).toMatch(/^- notes: .*NOTES_OWNER/m);
});

test("keeps the session of a client when its gateway stops, is killed, and comes back", async () => {
  const world = await createWorld(variable);
  const first = await world.up();
  const client = await world.connect();
  const changed: string[] = [];
  client.setNotificationHandler("notifications/tools/list_changed", () => void changed.push("tools"));
  expect(await whose(client)).toBe("of the shell");

  first.process.kill("SIGKILL");
  await expect.poll(() => whose(client), pollOptions).toBe("of nobody");
  await expect.poll(() => changed.length, pollOptions).toBeGreaterThan(0);

  const second = await world.up();
  await expect.poll(() => whose(client), pollOptions).toBe("of the shell");

  second.process.kill("SIGTERM");
  await expect.poll(() => whose(client), pollOptions).toBe("of nobody");
  expect((await client.listTools()).tools).toHaveLength(1);
});
