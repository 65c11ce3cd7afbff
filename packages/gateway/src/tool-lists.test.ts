import { McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { z } from "zod";
import { configurationOf, connect, pollOptions, startTestGateway, textOf } from "./gateway.test.helper.js";
import { serve, serveLegacy } from "./tool-servers.test.helper.js";

function makeFiles(): McpServer {
  const server = new McpServer({ name: "files", version: "1" }, { capabilities: { tools: {} } });
  for (const name of ["read_file", "write_file", "delete_file"]) {
    server.registerTool(name, { inputSchema: z.object({}) }, async () => ({ content: [{ type: "text", text: name }] }));
  }
  return server;
}

test("neither offers nor calls a denied tool, and changes the filter at a reload on the same connection", async () => {
  let initialized = 0;
  const url = await serveLegacy(() => {
    initialized += 1;
    return makeFiles();
  });
  const entries = { files: { type: "http", url } };
  const tools = { files: { allow: ["*_file"], deny: ["delete_*"] } };
  const gateway = await startTestGateway(entries, { tools });
  const client = await connect(gateway, "legacy");
  const names = async () =>
    (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name).sort();
  expect(await names()).toEqual(["files__read_file", "files__write_file"]);
  await expect(client.callTool({ name: "files__delete_file", arguments: {} })).rejects.toThrow(
    /Tool "[^"]+" does not exist/,
  );
  expect(gateway.gateway.servers()[0]).toMatchObject({ tools: 2, idlePatterns: [] });

  await gateway.gateway.reload([configurationOf(entries)], { files: { allow: ["delete_file"] } });
  expect(await names()).toEqual(["files__delete_file"]);
  expect(textOf(await client.callTool({ name: "files__delete_file", arguments: {} }))).toBe("delete_file");
  await expect(client.callTool({ name: "files__read_file", arguments: {} })).rejects.toThrow(
    /Tool "[^"]+" does not exist/,
  );
  expect(gateway.events.findLast(({ kind }) => kind === "reloaded")).toMatchObject({ changed: ["files"] });
  expect(initialized).toBe(1);
});

test("reports a filter for an unknown server, and a pattern that matches no tool, once", async () => {
  const made: McpServer[] = [];
  const url = await serveLegacy(() => {
    const server = makeFiles();
    made.push(server);
    return server;
  });
  const tools = { files: { deny: ["raed_file", "w*"] }, mail: { allow: ["read"] } };
  const gateway = await startTestGateway({ files: { type: "http", url } }, { tools });
  const status = () => gateway.gateway.servers()[0];
  await expect.poll(() => status()?.idlePatterns, pollOptions).toEqual(["raed_file"]);
  await expect.poll(() => status()?.tools, pollOptions).toBe(2);
  // The tools are listed once more.
  const client = await connect(gateway, "legacy");
  await expect
    .poll(
      async () => {
        if (status()?.tools === 2)
          made[0]?.registerTool(`added_${Math.random()}`, { inputSchema: z.object({}) }, () => ({ content: [] }));
        return (await client.listTools(undefined, { cacheMode: "refresh" })).tools.length;
      },
      { ...pollOptions, interval: 200 },
    )
    .toBeGreaterThan(2);
  const reasons = gateway.events.flatMap((event) => (event.kind === "defect" ? [event.reason] : []));
  expect(reasons).toEqual([
    'The tool filter for server "mail" has no effect: the server does not exist. Servers: files.',
    'No tool of server "files" matches "raed_file" in its tool filter. Check the names of its tools and correct the filter.',
  ]);
});

/** A server that cannot list its tools and prompts until `repair` is called. */
async function serveBroken(): Promise<{ readonly entries: object; repair(): void }> {
  let isBroken = true;
  const respond = (method: string, id: unknown): object => {
    const about = { name: "orders", version: "1" };
    const capabilities = { tools: {}, prompts: {} };
    if (method === "initialize") {
      return { jsonrpc: "2.0", id, result: { protocolVersion: "2025-06-18", capabilities, serverInfo: about } };
    }
    if (method === "tools/list" && !isBroken) {
      return { jsonrpc: "2.0", id, result: { tools: [{ name: "search", inputSchema: { type: "object" } }] } };
    }
    return { jsonrpc: "2.0", id, error: { code: -32_603, message: `No table for ${method}.` } };
  };
  const port = await serve(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const { method, id } = request.method === "POST" ? JSON.parse(body) : {};
    if (id === undefined) response.writeHead(request.method === "POST" ? 202 : 405).end();
    else {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(respond(method, id)));
    }
  });
  return {
    entries: { orders: { type: "http", url: `http://127.0.0.1:${port}/mcp` } },
    repair() {
      isBroken = false;
    },
  };
}

test("lists the tools of a connected server at once if the user reconnects it", async () => {
  const { entries, repair } = await serveBroken();
  const { gateway } = await startTestGateway(entries);
  const status = () => gateway.servers()[0];
  await expect.poll(() => status()?.failure?.message, pollOptions).toContain("No table for tools/list.");
  await gateway.reconnect("orders");
  expect(status()).toMatchObject({ state: "READY", tools: undefined });
  repair();
  await gateway.reconnect("orders");
  expect(status()).toMatchObject({ state: "READY", failure: undefined, tools: 1 });
});

test("does not say that a connected server has not connected yet, or name the failure of another list", async () => {
  const { entries } = await serveBroken();
  const gateway = await startTestGateway(entries);
  await expect.poll(() => gateway.gateway.servers()[0]?.failure, pollOptions).toBeDefined();
  const client = await connect(gateway, "legacy");
  await expect(client.callTool({ name: "orders__search", arguments: {} })).rejects.toThrow(
    /server orders cannot list its tools: .*No table for tools\/list\./,
  );
  await expect(client.getPrompt({ name: "orders__greet" })).rejects.toThrow(
    /server orders did not list its prompts\. Try again later\./,
  );
});
