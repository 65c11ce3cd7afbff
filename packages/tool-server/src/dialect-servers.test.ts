import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { dialectFiles, dialectFixture, type FixtureServers } from "./config/dialects.test.helper.js";
import { failureOf } from "./failure-of.test.helper.js";
import { loadToolServers } from "./load-tool-servers.js";
import { type OpenToolServers, openToolServers } from "./open-tool-servers.js";
import { createSecretRegistry } from "./secrets/redactor.js";
import { serveSse, smallProgram } from "./small-servers.test.helper.js";
import { approvals } from "./trust/trust.js";

let root: string;
let environment: Record<string, string | undefined>;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "dialects-")));
  onTestFinished(() => rmSync(root, { recursive: true }));
  environment = {
    PATH: process.env.PATH,
    HOME: root,
    XDG_CONFIG_HOME: join(root, "config"),
    XDG_DATA_HOME: join(root, "data"),
    WIRESCOPE_VAULT: "memory",
    AMP_MODE: "quiet",
    API_KEY: "key-of-the-dialects-test",
    CONTEXT7_API_KEY: "key-of-context7",
    COPILOT_KEY: "key-of-copilot",
    DB_CONNECTION_STRING: "postgres://localhost/db",
    FIGMA_OAUTH_TOKEN: "figma-token-of-the-test",
    MCP_CLIENT_ID: "client",
    MCP_CLIENT_SECRET: "secret-of-the-mcp-client",
    SRC_ACCESS_TOKEN: "token-of-sourcegraph",
  };
  writeFileSync(join(root, ".env"), "FROM_FILE=value-of-the-file\n");
  writeFileSync(join(root, "server.mjs"), smallProgram);
  mkdirSync(join(root, "mcp-servers", "python"), { recursive: true });
  writeFileSync(join(root, "mcp-servers", "python", "server.mjs"), smallProgram);
});

/** A real server over Streamable HTTP, at any path. */
async function startHttp(): Promise<string> {
  const handler = toNodeHandler(
    createMcpHandler(() => {
      const server = new McpServer({ name: "remote", version: "1.0.0" });
      server.registerTool("add", {}, async () => ({ content: [{ type: "text", text: "added" }] }));
      server.registerTool("screenshot", {}, async () => ({ content: [{ type: "text", text: "taken" }] }));
      return server;
    }),
  );
  const server = createServer(handler as RequestListener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

function write(path: string, text: string): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** Approves every entry of a file, as a user does with `wirescope trust`. */
async function approveAll(file: string): Promise<void> {
  const trust = approvals({ environment });
  const loaded = await loadToolServers(file, createSecretRegistry(), { environment });
  const { configuration, pluginRoot, variables } = loaded;
  for (const entry of configuration.entries) {
    const decision = await trust.evaluate({ entry, configurationPath: file, pluginRoot, variables });
    if (decision.state === "new" || decision.state === "changed") await trust.approve(decision.subject);
  }
  await loaded.dispose();
}

async function open(file: string): Promise<OpenToolServers> {
  const servers = await openToolServers(file, { environment });
  onTestFinished(() => servers.close());
  return servers;
}

/** An entry in a file of a program, approved and opened. */
async function openOne(entry: object, path = ".mcp.json"): Promise<OpenToolServers> {
  const file = write(path, JSON.stringify({ mcpServers: { s: entry } }));
  await approveAll(file);
  return open(file);
}

async function processOf(servers: OpenToolServers): Promise<{ cwd: string; env: Record<string, string> }> {
  const { content } = await (await servers.open("s")).callTool({ name: "add" });
  return JSON.parse((content[0] as { text: string }).text);
}

test("[TS-D-DIALECT-1, TS-D-TYPE-3, TS-D-URL-3] connects to every usable server of the file of each program, once it is approved", async () => {
  const servers: FixtureServers = {
    command: process.execPath,
    server: join(root, "server.mjs"),
    http: await startHttp(),
    sse: await serveSse(),
  };
  const reached: string[] = [];
  Object.assign(environment, {
    INPUT_PERPLEXITY_KEY: "key-that-a-person-entered",
    INPUT_TENANT: "mcp",
    INPUT_X_API_KEY: "another-key-that-was-entered",
  });
  for (const [dialect, fixture, path] of dialectFiles) {
    // Its own approvals: each check reads them all.
    environment.XDG_CONFIG_HOME = join(root, "config", dialect);
    const file = write(path, dialectFixture(fixture, servers));
    await approveAll(file);
    const opened = await open(file);
    expect(opened.findings.filter(({ severity }) => severity === "error")).toEqual([]);
    for (const { name, state } of await opened.status()) {
      if (state === "DISABLED") continue;
      const connection = await opened.open(name);
      const { tools } = await connection.listTools();
      expect(tools.length, `${dialect}: ${name}`).toBeGreaterThan(0);
      reached.push(`${dialect}: ${name}`);
    }
    await opened.close();
  }
  expect(reached.length).toBeGreaterThan(2 * dialectFiles.length);
}, 180_000);

describe("an entry", () => {
  const command = process.execPath;

  test("[TS-D-DIALECT-4] runs a server in its cwd, with the variables of its envFile, which env overrides", async () => {
    write("more.env", "A=of-the-file\nB=of-the-file\nAPI_TOKEN=token-of-the-env-file\nWIRESCOPE_X=never\n");
    const entry = { command, args: ["server.mjs"], cwd: "mcp-servers/python", envFile: "more.env", env: { B: "own" } };
    const servers = await openOne(entry);
    const { cwd, env } = await processOf(servers);
    expect(cwd).toBe(join(root, "mcp-servers", "python"));
    expect(env).toMatchObject({ A: "of-the-file", B: "own", API_TOKEN: "token-of-the-env-file" });
    expect(env.WIRESCOPE_X).toBeUndefined();
    expect(servers.secrets.redact("token-of-the-env-file")).not.toContain("token-of-the-env-file");
  });

  test("[TS-D-DIALECT-8] reads {file:path} of opencode after the approval, from the folder of its file, and runs the server in the project", async () => {
    write(".opencode/.token", "token-of-the-file\n");
    const environment = { TOKEN: "{file:.token}", KEY: "{env:API_KEY}" };
    const entry = { type: "local", command: [command, "server.mjs"], environment };
    const file = write(".opencode/opencode.json", JSON.stringify({ mcp: { s: entry } }));
    const servers = await open(file);
    expect(await failureOf(servers.open("s"))).toMatchObject({ code: "NOT_TRUSTED" });
    await approveAll(file);
    const { cwd, env } = await processOf(servers);
    expect(cwd).toBe(root);
    expect(env).toMatchObject({ TOKEN: "token-of-the-file", KEY: "key-of-the-dialects-test" });
    // A link to another file is another content.
    write("private", "private-key-of-the-user\n");
    rmSync(join(root, ".opencode", ".token"));
    symlinkSync(join(root, "private"), join(root, ".opencode", ".token"));
    expect(await (await open(file)).status()).toMatchObject([{ state: "NOT_TRUSTED" }]);
  });

  test("[TS-D-DIALECT-4] fails with the path of an envFile that is missing", async () => {
    const servers = await openOne({ command, args: ["server.mjs"], envFile: "missing.env" });
    const connection = await servers.open("s");
    const error = await failureOf(connection.connect());
    expect(error).toMatchObject({ code: "VARIABLE_UNUSABLE" });
    expect(error.message).toContain(join(root, "missing.env"));
  });

  test("[TS-D-DIALECT-5] starts a server again with the envFile as it is approved then, and not with the one of its first start", async () => {
    write("server.mjs", smallProgram.replace("file_deleter: run", "file_deleter: () => process.exit()"));
    write("more.env", "API_TOKEN=token-of-the-first-start\n");
    const servers = await openOne({ command, args: ["server.mjs"], envFile: "more.env" });
    const { env } = await processOf(servers);
    expect(env.API_TOKEN).toBe("token-of-the-first-start");
    const connection = await servers.open("s");
    expect(connection.info.credential().summary).toBe("environment variable (API_TOKEN)");
    write("more.env", "API_TOKEN=token-of-the-second-start\nB=2\n");
    expect(await failureOf(connection.callTool({ name: "file_deleter" }))).toMatchObject({ code: "CHILD_EXITED" });
    expect(await failureOf(connection.connect())).toMatchObject({ code: "NOT_TRUSTED" });
    await approveAll(join(root, ".mcp.json"));
    await connection.connect();
    expect((await processOf(servers)).env).toMatchObject({ API_TOKEN: "token-of-the-second-start", B: "2" });
    expect(connection.info.credential().summary).toBe("environment variables (API_TOKEN, B)");
    expect(servers.secrets.redact("token-of-the-second-start")).toBe("[redacted]");
  });

  test("[TS-D-DIALECT-5] asks for approval again after the envFile, or a file that the cwd makes an entry run, has changed", async () => {
    write("more.env", "A=1\n");
    const entry = { command, args: ["./server.mjs"], cwd: "mcp-servers/python", envFile: "more.env" };
    const servers = await openOne(entry);
    expect(await servers.status()).toMatchObject([{ state: "IDLE" }]);
    write("more.env", "A=1\nNODE_OPTIONS=--import=./evil.mjs\n");
    expect(await servers.status()).toMatchObject([{ state: "NOT_TRUSTED" }]);
    write("more.env", "A=1\n");
    expect(await servers.status()).toMatchObject([{ state: "IDLE" }]);
    write("mcp-servers/python/server.mjs", "process.exit(1)");
    expect(await servers.status()).toMatchObject([{ state: "NOT_TRUSTED" }]);
  });

  test("[TS-D-DIALECT-4] lists only the tools that an entry selects, and sends no call of another", async () => {
    const url = await startHttp();
    for (const entry of [
      { url, excludeTools: ["screenshot"] },
      { url, includeTools: ["add"] },
      { url, enabled_tools: ["add", "screenshot"], disabled_tools: ["screenshot"] },
      { command, args: ["server.mjs"], disabledTools: ["file_deleter"] },
    ]) {
      const servers = await openOne(entry);
      const connection = await servers.open("s");
      expect((await connection.listTools()).tools.map(({ name }) => name)).toEqual(["add"]);
      expect((await connection.request("tools/list", {})).tools).toMatchObject([{ name: "add" }]);
      {
        const name = "url" in entry ? "screenshot" : "file_deleter";
        expect(await failureOf(connection.callTool({ name }))).toMatchObject({ code: "TOOL_EXCLUDED" });
        expect(await failureOf(connection.request("tools/call", { name }))).toMatchObject({ code: "TOOL_EXCLUDED" });
      }
      expect(await connection.callTool({ name: "add" })).toMatchObject({ content: [{ type: "text" }] });
      await servers.close();
    }
  });

  test("[TS-D-DIALECT-4] does not open an entry that is disabled", async () => {
    const servers = await openOne({ command, args: ["server.mjs"], disabled: true });
    expect(await servers.status()).toEqual([{ name: "s", state: "DISABLED" }]);
    expect(await failureOf(servers.open("s"))).toMatchObject({ code: "SERVER_DISABLED" });
  });

  test("[TS-D-DIALECT-4] ends a call after the timeout of its entry", async () => {
    write("silent.mjs", smallProgram.replace("add: run", "add: () => undefined"));
    const servers = await openOne({ command, args: ["silent.mjs"], tool_timeout_sec: 0.2 });
    const connection = await servers.open("s");
    expect(await failureOf(connection.callTool({ name: "add" }))).toMatchObject({ code: "CALL_TIMEOUT" });
    expect(
      await failureOf(connection.request("tools/call", { name: "add" }, { totalTimeoutMs: 60_000 })),
    ).toMatchObject({
      code: "CALL_TIMEOUT",
    });
  });

  test("[TS-D-URL-3] rejects http to another host than this machine", async () => {
    const servers = await openOne({ url: "http://mcp.example.com/mcp" });
    expect(await failureOf(servers.open("s"))).toMatchObject({ code: "ENTRY_INVALID" });
  });
});
