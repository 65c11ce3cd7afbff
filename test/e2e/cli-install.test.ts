import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeEach, expect, test } from "vitest";
import { createUserFolder, startCommand } from "./command.test.helper.js";
import { everything } from "./real-servers.test.helper.js";
import { type EndedProcess, endOf } from "./running-process.test.helper.js";

let folder: string;
let project: string;
let env: Record<string, string>;

beforeEach(() => {
  const user = createUserFolder();
  folder = user.folder;
  project = join(folder, "project");
  mkdirSync(join(user.home, ".cursor"));
  mkdirSync(project);
  env = { HOME: user.home, PATH: "/usr/bin:/bin" };
  const entry = { command: process.execPath, args: [everything, "stdio"] };
  writeFileSync(join(project, ".mcp.json"), JSON.stringify({ mcpServers: { everything: entry } }));
});

function wirescope(...argv: string[]): Promise<EndedProcess> {
  return endOf(startCommand(argv, { cwd: project, env }));
}

test("writes an entry that starts the gateway with the tools of the approved servers", async () => {
  expect(await wirescope("trust", "everything", "--yes")).toMatchObject({ code: 0 });
  expect(await wirescope("install", "cursor", "--yes")).toMatchObject({ code: 0 });
  const { command, args } = JSON.parse(readFileSync(join(folder, "home/.cursor/mcp.json"), "utf8")).mcpServers
    .wirescope;
  const client = new Client({ name: "an editor", version: "1" });
  // In another folder, as an editor does.
  await client.connect(new StdioClientTransport({ command, args, env, cwd: folder, stderr: "ignore" }));
  try {
    const names = async () =>
      (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name);
    await expect.poll(names).toContain("everything__echo");
    const result = await client.callTool({ name: "everything__echo", arguments: { message: "hello" } });
    expect(JSON.stringify(result.content)).toContain("hello");
  } finally {
    await client.close();
  }
});

test("loses no entry if several processes install at once", async () => {
  const names = ["a", "b", "c", "d"];
  const runs = await Promise.all(names.map((name) => wirescope("install", "cursor", "--yes", "--name", name)));
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  const { mcpServers } = JSON.parse(readFileSync(join(folder, "home/.cursor/mcp.json"), "utf8"));
  expect(Object.keys(mcpServers).sort()).toEqual(names);
});
