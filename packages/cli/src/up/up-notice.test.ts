import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createSecretRegistry, ToolServerError } from "@wirescope/tool-server";
import { createMemoryVault } from "@wirescope/tool-server/auth";
import { type Entry, parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished, test } from "vitest";
import { createScreen } from "../output/screen.js";
import { createServerCommands } from "./to-do.js";
import { upNotice } from "./up-notice.js";

async function start(
  entries: object,
  assertTrusted: (entry: Entry) => Promise<void> = async () => {},
): Promise<Gateway> {
  const gateway = await runGateway({
    configurations: [
      {
        configuration: parseConfiguration(JSON.stringify({ mcpServers: entries })),
        variables: { A_HOST: "a/b" },
        pluginRoot: process.cwd(),
        assertTrusted,
        oauth: { vault: createMemoryVault(), allowInsecureLoopback: true },
      },
    ],
    secrets: createSecretRegistry(),
  });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  return gateway;
}

function noticeOf(gateway: Gateway, isCapturing = false): string {
  const nowhere = { write: () => true };
  const screen = createScreen({ stdout: nowhere, stderr: nowhere, env: {}, now: () => new Date() }, true);
  const commands = createServerCommands({
    program: "wirescope",
    foundFile: undefined,
    isDemo: false,
    fileOf: () => undefined,
  });
  const words = {
    ...{ title: "Up.", page: "http://page", commands, signInOf: () => "", token: "", isCapturing, more: [] },
    next: ["wirescope tree"],
  };
  return upNotice(gateway, words, screen).join("\n");
}

test("says that there are no servers instead of printing an empty table", async () => {
  const notice = noticeOf(await start({}));
  expect(notice).toContain("No servers are configured.");
  expect(notice).not.toContain("AUTH");
});

test("says that arguments and results are captured, if they are", async () => {
  const gateway = await start({});
  expect(noticeOf(gateway)).not.toContain("Capture");
  expect(noticeOf(gateway, true)).toContain("Capture   on for 15 minutes: arguments and results");
});

test("does not show a server that works without a sign-in as one that lacks it", async () => {
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "open", version: "1" },
    },
    "tools/list": { tools: [] },
  };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { id, method } = text === "" ? { id: undefined, method: "" } : JSON.parse(text);
    if (id === undefined) return void response.writeHead(text === "" ? 405 : 202).end();
    const result = results[method];
    const error = { code: -32601, message: "Method not found" };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const gateway = await start({
    open: { type: "http", url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` },
  });
  await expect.poll(() => gateway.servers()[0]?.state).toBe("READY");
  expect(noticeOf(gateway)).toContain("none");
});

test("names servers that are still connecting", async () => {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const gateway = await start({
    slow: { type: "http", url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` },
  });
  await expect.poll(() => gateway.servers()[0]?.state).toBe("CONNECTING");
  expect(noticeOf(gateway)).toContain("Still connecting: slow.");
});

test("does not truncate the table if standard output is not a terminal", async () => {
  const args = ["--database", `/srv/${"a-long-path/".repeat(12)}notes.db`];
  const gateway = await start({ [`a-server-with-${"a-long-".repeat(5)}name`]: { command: "/nowhere/at-all", args } });
  await expect.poll(() => gateway.servers()[0]?.failure).toBeDefined();
  const notice = noticeOf(gateway);
  expect(notice).toContain(`a-server-with-${"a-long-".repeat(5)}name`);
  expect(notice).toContain(gateway.servers()[0]?.target);
  expect(notice).not.toContain("…");
});

test("shows a server that is not approved, lacks a variable or has an invalid entry with that as its status", async () => {
  const gateway = await start(
    {
      strange: { command: "x" },
      unset: { command: "x", env: { TOKEN: "${SOME_TOKEN}" } },
      tenant: {
        type: "http",
        url: "https://${TENANT}.example.com/mcp",
        headers: { Authorization: "Bearer ${SOME_TOKEN}" },
      },
      bad: { type: "http", url: "https://${A_HOST}.example.com/mcp" },
      wrong: { type: "http", url: "http://example.com/mcp" },
    },
    async ({ name }) => {
      if (name === "strange") throw new ToolServerError("NOT_TRUSTED", { problem: "It is not approved.", advice: "" });
    },
  );
  await expect.poll(() => gateway.servers().every(({ failure }) => failure !== undefined)).toBe(true);
  const notice = noticeOf(gateway);
  expect(notice).toMatch(/^strange +not approved +-/m);
  expect(notice).toMatch(/^unset +not set: SOME_TOKEN +-/m);
  expect(notice).toMatch(/^tenant +not set: TENANT, SOME_TOKEN +-/m);
  expect(notice).toMatch(/^bad +variable not usable +-/m);
  expect(notice).toMatch(/^wrong +entry invalid +-/m);
  expect(notice).not.toContain("TRANSIENT_FAILURE");
});
