import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createUserFolder, runCommand, startGateway } from "./command.test.helper.js";

/** A server that cannot list its tools until a file exists. */
const program = `
  import { existsSync } from "node:fs";
  import { createInterface } from "node:readline";
  const tools = [{ name: "search", inputSchema: { type: "object" } }];
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...message }) + "\\n");
    if (method === "initialize") {
      const serverInfo = { name: "orders", version: "1" };
      write({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
    } else if (method === "tools/list" && existsSync(process.argv[2])) write({ result: { tools } });
    else write({ error: { code: -32603, message: "The database is down." } });
  }
`;

test("says why a connected server has no tools, and lists them by itself once it can", async () => {
  const { folder, home, file, configure } = createUserFolder();
  const [script, database] = [join(folder, "orders.mjs"), join(folder, "database")];
  writeFileSync(script, program);
  configure({ orders: { command: process.execPath, args: [script, database] } });
  const env = { PATH: process.env.PATH ?? "", HOME: home };
  const gateway = await startGateway(["--config", file, "--port", "0", "--trust"], { env });
  const status = () => runCommand(["status", "--config", file, "--json"], { env });
  const servers = async (): Promise<unknown> => JSON.parse((await status()).stdout).servers;
  await expect.poll(servers).toEqual({
    orders: expect.objectContaining({
      state: "READY",
      works: false,
      failure: expect.objectContaining({ message: expect.stringContaining("The database is down.") }),
    }),
  });
  const { code, stdout } = await runCommand(["status", "--config", file], { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^orders +tools unavailable +-/m);
  expect(stdout).toMatch(/^orders, failing since .*The database is down\./m);
  const headers = { authorization: `Bearer ${gateway.token}`, "content-type": "application/json", accept: "*/*" };
  const send = (method: string, params: object, more: object = {}): Promise<Response> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return fetch(gateway.endpoint, { method: "POST", headers: { ...headers, ...more }, body });
  };
  const clientInfo = { name: "test", version: "1" };
  const opened = await send("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") };
  const called = await send("tools/call", { name: "orders__search", arguments: {} }, session);
  expect(await called.text()).toMatch(/server orders cannot list its tools: .*The database is down\./);
  expect(gateway.stderr.match(/"omitted".*tools\/list/g)).toHaveLength(1);

  writeFileSync(database, "");
  await expect.poll(servers).toEqual({ orders: expect.objectContaining({ works: true, tools: 1 }) });
  expect((await status()).code).toBe(0);
});
