import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { program } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld } from "./login-world.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 50 };

test("[TS-D-OAUTH-6] offers the tools of a server over stdio when another process signs in, and removes them when it signs out", async () => {
  const world = await createLoginWorld();
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, "up", "--stdio", "--trust", "--log", "off", ...world.shared],
    env: { ...world.env },
    stderr: "ignore",
  });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const tools = async (): Promise<string[]> =>
    (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name).sort();
  expect(await tools()).toEqual(["notes__sign_in"]);

  expect((await world.run(["login", "notes", "--trust"], { person: browsingPerson() })).code).toBe(0);
  await expect.poll(tools, pollOptions).toEqual(["notes__read", "notes__write"]);
  const { content } = await client.callTool({ name: "notes__read", arguments: {} });
  expect(content).toEqual([{ type: "text", text: "milk, eggs" }]);

  expect((await world.run(["logout", "notes", "--trust"])).code).toBe(0);
  await expect.poll(tools, pollOptions).toEqual(["notes__sign_in"]);
});
