import { expect, test } from "vitest";
import { connect, pollOptions, startTestGateway, textOf } from "./gateway.test.helper.js";
import { serveRaw } from "./raw-server.test.helper.js";

/** A stdio server that responds to `large` after `held` has arrived, and to `held` afterwards; ids are first or last. */
const script = (isIdFirst: boolean): string => `
const lines = require("node:readline").createInterface({ input: process.stdin });
const held = [];
const respond = (id, result) => {
  const message = ${isIdFirst} ? { jsonrpc: "2.0", id, result } : { result, jsonrpc: "2.0", id };
  process.stdout.write(JSON.stringify(message) + "\\n");
};
const text = (text) => ({ content: [{ type: "text", text }], id: 99 });
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "initialize") {
    respond(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
  } else if (method === "tools/list") {
    const tools = ["large", "held"].map((name) => ({ name, inputSchema: { type: "object" } }));
    respond(id, { tools });
  } else if (method === "tools/call" && params.name === "held") {
    held.push(id);
  } else if (method === "tools/call") {
    respond(id, text("x".repeat(params.arguments.bytes)));
    for (const other of held.splice(0)) respond(other, text(String(process.pid)));
  } else process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }) + "\\n");
});`;

test.each([
  ["before", true],
  ["after", false],
])(
  "a result above the limit fails only its own call on a shared connection, with the id %s the result [TS-D-EXT-9]",
  async (_, isIdFirst) => {
    const entry = { type: "stdio", command: process.execPath, args: ["-e", script(isIdFirst)] };
    const gateway = await startTestGateway({ one: entry }, { limits: { resultBytes: 100_000 } });
    const client = await connect(gateway, "legacy");
    await expect.poll(async () => (await client.listTools()).tools.length, pollOptions).toBe(2);
    const held = client.callTool({ name: "one__held", arguments: {} });
    const large = client.callTool({ name: "one__large", arguments: { bytes: 100_001 } });
    await expect(large).rejects.toThrow("sent a message of more than 100000 bytes");
    const pid = textOf(await held);
    const again = client.callTool({ name: "one__held", arguments: {} });
    expect(textOf(await client.callTool({ name: "one__large", arguments: { bytes: 50_000 } }))).toHaveLength(50_000);
    expect(textOf(await again)).toBe(pid);
    expect(gateway.gateway.servers()[0]?.state).toBe("READY");
  },
);

test("a stdio server whose line never ends is terminated", async () => {
  const endless = `
    const lines = require("node:readline").createInterface({ input: process.stdin });
    const write = () => process.stdout.write("x".repeat(100_000), () => setTimeout(write, 10));
    lines.once("line", write);`;
  const entry = { type: "stdio", command: process.execPath, args: ["-e", endless] };
  const { gateway } = await startTestGateway({ one: entry }, { limits: { resultBytes: 100_000 } });
  await expect.poll(() => gateway.servers()[0]?.failure?.message, pollOptions).toContain("100000 bytes");
});

test("a result above the limit over HTTP fails only its own call, and the limit can be raised [TS-D-EXT-9]", async () => {
  const large = `{"content":[{"type":"text","text":"${"x".repeat(200_000)}"}]}`;
  const server = await serveRaw({ "tools/call": () => large });
  const low = await startTestGateway({ raw: server.entry }, { limits: { resultBytes: 100_000 } });
  const client = await connect(low, "legacy");
  await expect(client.callTool({ name: "raw__echo", arguments: {} })).rejects.toThrow("100000 bytes");
  expect(low.gateway.servers()[0]?.state).toBe("READY");
  const high = await startTestGateway({ raw: server.entry }, { limits: { resultBytes: 300_000 } });
  const unlimited = await connect(high, "legacy");
  expect(textOf(await unlimited.callTool({ name: "raw__echo", arguments: {} }))).toHaveLength(200_000);
});
