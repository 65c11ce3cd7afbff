import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { parseConfiguration } from "../../config/parse-configuration.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createToolServers } from "./tool-servers.js";

const sessionId = (number: number): string => `session-number-${number}-of-many`;

/** A server that forgets its session with every call of a tool. */
async function serveForgetful(): Promise<{ readonly url: string; readonly sessions: () => number }> {
  let sessions = 0;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { id, method } = JSON.parse(body || "{}");
    if (request.method !== "POST") response.writeHead(405).end();
    else if (method === "server/discover") response.writeHead(400).end();
    else if (id === undefined) response.writeHead(202).end();
    else if (method === "tools/call" || method === "ping") response.writeHead(404).end();
    else {
      if (method === "initialize") response.setHeader("mcp-session-id", sessionId(sessions++));
      const serverInfo = { name: "forgetful", version: "1" };
      const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo };
      response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, sessions: () => sessions };
}

test("redacts the last 16 session ids in messages about their server, and does not collect more", async () => {
  const { url, sessions } = await serveForgetful();
  const secrets = createSecretRegistry();
  const configuration = parseConfiguration(JSON.stringify({ notes: { type: "http", url } }));
  const servers = createToolServers({
    configuration,
    variables: {},
    pluginRoot: process.cwd(),
    secrets,
    assertTrusted: async () => {},
    backOff: { firstMs: 1, maxMs: 1 },
    settings: { info: { name: "test", version: "0" } },
  });
  onTestFinished(() => servers.close());
  const connection = await servers.open("notes");
  while (sessions() < 20) {
    await connection.connect();
    await connection.callTool({ name: "forget", arguments: {} }).catch(() => {});
  }
  const last = sessions() - 1;
  expect(secrets.size).toBe(0);
  expect(secrets.redact(sessionId(last))).toBe(sessionId(last));
  expect(connection.redact(`${sessionId(last)} ${sessionId(last - 15)} ${sessionId(last - 16)}`)).toBe(
    `[redacted] [redacted] ${sessionId(last - 16)}`,
  );
});
