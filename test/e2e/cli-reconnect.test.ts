import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createUserFolder, type Run, runCommand } from "./command.test.helper.js";
import { type RunningGateway, runGateway } from "./running-command.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 50 };

/** A server with one tool that accepts one token, which may change. */
interface TicketServer {
  readonly url: string;
  accepted: string;
  /** Whether it rejects tools/list. */
  hidesTools: boolean;
}

async function startTicketServer(): Promise<TicketServer> {
  const state = { url: "", accepted: "", hidesTools: false };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (request.headers.authorization !== `Bearer ${state.accepted}`) return response.writeHead(401).end();
      if (request.method !== "POST") return response.writeHead(405).end();
      const { id, method } = JSON.parse(Buffer.concat(chunks).toString());
      if (id === undefined) return response.writeHead(202).end();
      const results: Record<string, object> = {
        initialize: {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "tickets", version: "2.0" },
        },
        "tools/list": { tools: [{ name: "search", inputSchema: { type: "object" } }] },
      };
      const result = state.hidesTools && method === "tools/list" ? undefined : results[method];
      const outcome = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result };
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return state;
}

interface World {
  readonly tickets: TicketServer;
  readonly up: RunningGateway;
  /** Writes the token into the environment file of the gateway. */
  setToken(token: string): void;
  run(argv: readonly string[]): Promise<Run>;
  /** How many tools a client of the gateway gets. */
  tools(): Promise<number>;
}

/** A gateway whose one server refuses the token of its environment file. */
async function startRefused(): Promise<World> {
  const tickets = await startTicketServer();
  tickets.accepted = "token-that-is-accepted-1";
  const { folder, home, file, configure } = createUserFolder();
  configure({
    tickets: { type: "http", url: tickets.url, headers: { Authorization: "Bearer ${TICKETS_TOKEN}" } },
  });
  const envFile = join(folder, "gateway.env");
  const setToken = (token: string): void => writeFileSync(envFile, `TICKETS_TOKEN=${token}\n`);
  setToken("token-that-is-refused-1");
  const env = { PATH: process.env.PATH ?? "", HOME: home };
  const shared = ["--config", file];
  const options = ["--json", "--print-token", "--log", "off", "--trust", "--allow-insecure-loopback"];
  const up = await runGateway([...options, "--env-file", envFile, ...shared], { env });
  return {
    tickets,
    up,
    setToken,
    run: (argv) => runCommand([...argv, ...shared], { env }),
    async tools() {
      const response = await fetch(up.endpoint, {
        method: "POST",
        headers: {
          authorization: `Bearer ${up.token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "tools/list",
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/list",
          params: {
            _meta: {
              "io.modelcontextprotocol/protocolVersion": "2026-07-28",
              "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
              "io.modelcontextprotocol/clientCapabilities": {},
            },
          },
        }),
      });
      return (await response.json()).result.tools.length;
    },
  };
}

test("makes the running gateway try a server again that had refused its token, and prints the result", async () => {
  const { tickets, run, tools } = await startRefused();
  const refused = await run(["reconnect", "tickets"]);
  expect(refused).toMatchObject({ code: 1, stderr: "" });
  expect(refused.stdout).toMatch(
    /^tickets is not connected\. The server "tickets" refused .*\n {2}Next: wirescope why tickets --config \S+\n$/,
  );
  expect(JSON.parse((await run(["reconnect", "--json"])).stdout).servers).toMatchObject({
    tickets: { isConnected: false, failure: { code: "UNAUTHORIZED" } },
  });
  tickets.accepted = "token-that-is-refused-1";
  expect(await run(["reconnect"])).toEqual({ code: 0, stdout: "tickets is connected: tickets 2.0\n", stderr: "" });
  await expect.poll(tools, pollOptions).toBe(1);
  expect(JSON.parse((await run(["reconnect", "tickets", "--json"])).stdout).servers).toEqual({
    tickets: { isConnected: true },
  });
  expect(await run(["reconnect", "ticket"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Servers: tickets."),
  });
});

test("reports a server whose tools cannot be listed, although it is connected, until they can", async () => {
  const { tickets, run } = await startRefused();
  tickets.accepted = "token-that-is-refused-1";
  tickets.hidesTools = true;
  for (const attempt of ["which connects", "while it is connected"]) {
    const { code, stdout } = await run(["reconnect", "tickets"]);
    expect([attempt, code, stdout]).toEqual([
      attempt,
      1,
      expect.stringMatching(
        /^tickets is connected, but its tools cannot be listed\. .*Method not found.*\n {2}Next: wirescope why tickets /,
      ),
    ]);
  }
  expect(JSON.parse((await run(["reconnect", "--json"])).stdout).servers).toMatchObject({
    tickets: { isConnected: true, failure: { message: expect.stringContaining("Method not found") } },
  });
  tickets.hidesTools = false;
  expect(await run(["reconnect"])).toEqual({ code: 0, stdout: "tickets is connected: tickets 2.0\n", stderr: "" });
});

test("connects a server in the gateway too after why found that it works", async () => {
  const { tickets, run, tools } = await startRefused();
  expect(await tools()).toBe(0);
  tickets.accepted = "token-that-is-refused-1";
  expect((await run(["why", "tickets"])).stdout).toContain("tickets works.");
  await expect.poll(tools, pollOptions).toBe(1);
});

test("uses a changed token in the environment file of a running gateway at once", async () => {
  const { setToken, tools } = await startRefused();
  expect(await tools()).toBe(0);
  setToken("token-that-is-accepted-1");
  await expect.poll(tools, pollOptions).toBe(1);
});

test("says how to start a gateway if none runs", async () => {
  const { home, file, configure } = createUserFolder();
  configure({});
  const env = { PATH: process.env.PATH ?? "", HOME: home };
  expect(await runCommand(["reconnect", "--config", file], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Start one with wirescope up"),
  });
});
