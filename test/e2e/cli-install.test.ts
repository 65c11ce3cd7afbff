import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeEach, expect, test } from "vitest";
import { everything } from "./real-servers.test.helper.js";

const program = fileURLToPath(new URL("../../packages/cli/bin/wirescope.js", import.meta.url));
let folder: string;
let project: string;
let env: Record<string, string>;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "wirescope-install-")));
  const home = join(folder, "home");
  project = join(folder, "project");
  mkdirSync(join(home, ".cursor"), { recursive: true });
  mkdirSync(project);
  env = { HOME: home, PATH: "/usr/bin:/bin" };
  const entry = { command: process.execPath, args: [everything, "stdio"] };
  writeFileSync(join(project, ".mcp.json"), JSON.stringify({ mcpServers: { everything: entry } }));
});

afterEach(() => rmSync(folder, { recursive: true }));

async function wirescope(...argv: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [program, ...argv], { cwd: project, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output };
}

test("what is written starts the gateway, with the tools of the servers that were approved", async () => {
  expect(await wirescope("trust", "everything", "--yes")).toMatchObject({ code: 0 });
  expect(await wirescope("install", "cursor", "--yes")).toMatchObject({ code: 0 });
  const { command, args } = JSON.parse(readFileSync(join(folder, "home/.cursor/mcp.json"), "utf8")).mcpServers
    .wirescope;
  const client = new Client({ name: "an editor", version: "1" });
  // Somewhere else, as an editor does.
  await client.connect(new StdioClientTransport({ command, args, env, cwd: folder, stderr: "ignore" }));
  try {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("everything__echo");
    const result = await client.callTool({ name: "everything__echo", arguments: { message: "hello" } });
    expect(JSON.stringify(result.content)).toContain("hello");
  } finally {
    await client.close();
  }
});

test("processes that install at once lose nothing of each other", async () => {
  const names = ["a", "b", "c", "d"];
  const runs = await Promise.all(names.map((name) => wirescope("install", "cursor", "--yes", "--name", name)));
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  const { mcpServers } = JSON.parse(readFileSync(join(folder, "home/.cursor/mcp.json"), "utf8"));
  expect(Object.keys(mcpServers).sort()).toEqual(names);
});
