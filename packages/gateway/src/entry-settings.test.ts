import { McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { z } from "zod";
import { configurationOf, connect, type Mode, startTestGateway, textOf } from "./gateway.test.helper.js";
import { serveBoth } from "./tool-servers.test.helper.js";

/** A server with three tools; counts the calls that reach it. */
async function serveFiles(): Promise<{ readonly url: string; readonly calls: string[] }> {
  const calls: string[] = [];
  const url = await serveBoth(() => {
    const server = new McpServer({ name: "files", version: "1" }, { capabilities: { tools: {} } });
    for (const name of ["read", "write", "delete"]) {
      server.registerTool(name, { inputSchema: z.object({}) }, async () => {
        calls.push(name);
        return { content: [{ type: "text", text: name }] };
      });
    }
    return server;
  });
  return { url, calls };
}

const modes: readonly Mode[] = ["modern", "legacy"];

test.each(modes)(
  "[TS-D-DIALECT-4] a %s client neither sees nor calls the tools that an entry excludes",
  async (mode) => {
    const { url, calls } = await serveFiles();
    const gateway = await startTestGateway({
      included: { type: "http", url, includeTools: ["read", "write"], excludeTools: ["write"] },
      excluded: { url, disabledTools: ["delete"] },
    });
    const client = await connect(gateway, mode);
    const { tools } = await client.listTools(undefined, { cacheMode: "refresh" });
    const names = tools.map(({ name }) => name).sort();
    expect(names).toEqual(["excluded__read", "excluded__write", "included__read"]);
    for (const name of ["included__write", "included__delete", "excluded__delete"]) {
      await expect(client.callTool({ name, arguments: {} })).rejects.toThrow(/does not exist|does not offer/);
    }
    expect(calls).toEqual([]);
    expect(textOf(await client.callTool({ name: "included__read", arguments: {} }))).toBe("read");
    expect(calls).toEqual(["read"]);
  },
);

test("[TS-D-DIALECT-4] does not connect a server that its entry disables, until a reload enables it", async () => {
  const { url } = await serveFiles();
  const entries = (disabled: boolean) => ({ on: { type: "http", url }, off: { type: "http", url, disabled } });
  const gateway = await startTestGateway(entries(true));
  const client = await connect(gateway, "modern");
  const servers = async () => {
    const { tools } = await client.listTools(undefined, { cacheMode: "refresh" });
    return [...new Set(tools.map(({ name }) => name.split("__")[0]))].sort();
  };
  expect(gateway.gateway.servers().map(({ name }) => name)).toEqual(["on"]);
  expect(await servers()).toEqual(["on"]);
  await expect(client.callTool({ name: "off__read", arguments: {} })).rejects.toThrow(/does not exist/);
  await gateway.gateway.reload([configurationOf(entries(false))]);
  expect(await servers()).toEqual(["off", "on"]);
  await gateway.gateway.reload([configurationOf(entries(true))]);
  expect(await servers()).toEqual(["on"]);
});

test("[TS-D-DIALECT-4] applies a changed tool selection of an entry at the next reload", async () => {
  const { url } = await serveFiles();
  const gateway = await startTestGateway({ files: { type: "http", url, excludeTools: ["delete"] } });
  const client = await connect(gateway, "modern");
  const names = async () =>
    (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name).sort();
  expect(await names()).toEqual(["files__read", "files__write"]);
  await gateway.gateway.reload([configurationOf({ files: { type: "http", url, includeTools: ["delete"] } })]);
  expect(await names()).toEqual(["files__delete"]);
  await expect(client.callTool({ name: "files__read", arguments: {} })).rejects.toThrow(
    /does not exist|does not offer/,
  );
});

test.each(modes)("[TS-D-DIALECT-4] ends a call of a %s client after the entry's timeout", async (mode) => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const url = await serveBoth(() => {
    const server = new McpServer({ name: "slow", version: "1" }, { capabilities: { tools: {} } });
    server.registerTool("wait", { inputSchema: z.object({}) }, async () => {
      await released;
      return { content: [{ type: "text", text: "late" }] };
    });
    return server;
  });
  const gateway = await startTestGateway({ slow: { type: "http", url, timeout: 1_000 } });
  const client = await connect(gateway, mode);
  try {
    const call = client.callTool({ name: "slow__wait", arguments: {} }, { timeout: 60_000 });
    await expect(call).rejects.toThrow(/1 second|1 s|1000 ms|timed out|no response/i);
  } finally {
    release();
  }
});
