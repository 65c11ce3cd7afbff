import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { channelPrefix, type TraceEvent } from "@wirescope/tool-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { connect, pollOptions, startTestGateway, textOf } from "./gateway.test.helper.js";
import { makeEcho, modernListener, serve, serveLegacy, serveModern, small } from "./tool-servers.test.helper.js";

/** A server that accepts requests and never responds. */
async function silentServer(): Promise<string> {
  return `http://127.0.0.1:${await serve(() => {})}/mcp`;
}

/** A server that fails until it is started. */
async function lateServer(): Promise<{ readonly entry: object; start(): void }> {
  let isUp = false;
  const late = modernListener(makeEcho("late"));
  const port = await serve((request, response) => {
    if (isUp) late(request, response);
    else response.writeHead(503).end();
  });
  return {
    entry: { type: "http", url: `http://127.0.0.1:${port}/mcp` },
    start() {
      isUp = true;
    },
  };
}

const listMs = 1500;

describe("an unreachable and a silent server", () => {
  test("omits them from lists, reports that once in an event and in the trace, and does not delay other servers", async () => {
    const traces: TraceEvent[] = [];
    const onTrace = (message: unknown): void => void traces.push(message as TraceEvent);
    subscribe(`${channelPrefix}trace`, onTrace);
    onTestFinished(() => void unsubscribe(`${channelPrefix}trace`, onTrace));
    const gateway = await startTestGateway(
      {
        dead: { type: "http", url: "http://127.0.0.1:1/mcp" },
        good: { type: "http", url: await serveModern(makeEcho("good")) },
        silent: { type: "http", url: await silentServer() },
        gone: { command: "/nowhere/at-all" },
      },
      { limits: { listMs } },
    );
    const client = await connect(gateway, "modern");
    const toolNames = async () =>
      (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name);
    // On a busy machine the working server may be late, too.
    await expect.poll(toolNames, pollOptions).toEqual(["good__echo"]);
    const isOmitted = (server: string) =>
      gateway.events.some(
        (event) => event.kind === "omitted" && event.server === server && event.list === "tools/list",
      );
    for (const server of ["dead", "silent", "gone"]) expect(isOmitted(server), server).toBe(true);
    const omissions = traces.filter(({ text }) => text.startsWith("Omitted from tools/list"));
    const omitted = omissions.map(({ subject }) => ("name" in subject ? subject.name : ""));
    expect(omitted).toEqual(expect.arrayContaining(["dead", "silent", "gone"]));

    // The time limit of the silent server has passed: later clients do not wait for it again.
    const startedAt = performance.now();
    for (let time = 0; time < 5; time += 1) await client.listTools(undefined, { cacheMode: "refresh" });
    expect(textOf(await client.callTool({ name: "good__echo", arguments: { text: "a" } }))).toBe("good: a");
    expect(performance.now() - startedAt).toBeLessThan(5 * listMs);
    // Each reason is reported once for each list, not for each request.
    const reported = gateway.events.flatMap((event) =>
      event.kind === "omitted" ? [`${event.server} ${event.list}: ${event.reason}`] : [],
    );
    expect(reported).toEqual([...new Set(reported)]);
    expect(reported).toContain("silent tools/list: no response in 1.5 s; it will be added once it responds.");
    // Failed servers are tried again from time to time.
    const states = () => gateway.gateway.servers().map(({ name, state }) => [name, state]);
    await expect.poll(states, pollOptions).toEqual([
      ["dead", "TRANSIENT_FAILURE"],
      ["good", "READY"],
      ["silent", "CONNECTING"],
      ["gone", "TRANSIENT_FAILURE"],
    ]);
    expect(gateway.gateway.servers()[3]?.failure?.message).toContain("/nowhere/at-all");
  });

  test("fails a call to their tools with the name of the server and the reason", async () => {
    const gateway = await startTestGateway(
      { dead: { type: "http", url: "http://127.0.0.1:1/mcp" } },
      { limits: { listMs: 300 } },
    );
    const client = await connect(gateway, "legacy");
    await expect(client.callTool({ name: "dead__echo", arguments: {} })).rejects.toThrow(
      /Tool dead__echo is unavailable because server dead is down: /,
    );
    await expect(client.callTool({ name: "other__echo", arguments: {} })).rejects.toThrow(
      /Tool "other__echo" does not exist/,
    );
  });

  test("names the server and the tool in the event of a call whose server is down, and the tool that no server has", async () => {
    const down = { type: "http", url: "http://127.0.0.1:1/mcp" };
    const gateway = await startTestGateway({ dead: down, "my.dead": down }, { limits: { listMs: 300 } });
    const client = await connect(gateway, "legacy");
    for (const name of ["dead__echo", "my_dead__echo", "other__echo"]) {
      await expect(client.callTool({ name, arguments: {} })).rejects.toThrow();
    }
    const calls = gateway.events.flatMap((event) =>
      event.kind === "call" && event.method === "tools/call"
        ? [[event.clientName, event.server, event.name, event.outcome]]
        : [],
    );
    expect(calls).toEqual([
      ["test-legacy 1.0.0", "dead", "echo", "error"],
      ["test-legacy 1.0.0", "my.dead", "echo", "error"],
      ["test-legacy 1.0.0", undefined, "other__echo", "error"],
    ]);
  });

  test("says since when a server fails, until it is connected", async () => {
    const { entry, start } = await lateServer();
    const gateway = await startTestGateway({ late: entry });
    const failure = () => gateway.gateway.servers()[0]?.failure;
    await expect.poll(failure, pollOptions).toBeDefined();
    const first = failure();
    expect(first?.since).toBe(first?.at);
    await expect.poll(() => (failure()?.at ?? 0) > (first?.at ?? 0), pollOptions).toBe(true);
    expect(failure()?.since).toBe(first?.at);
    start();
    await expect.poll(failure, pollOptions).toBeUndefined();
  });

  test("connects a server once the file of its envFile exists, without a client", async () => {
    const folder = mkdtempSync(join(tmpdir(), "late-env-file-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const envFile = join(folder, "secrets.env");
    const { gateway } = await startTestGateway({ late: { ...small, envFile } });
    await expect.poll(() => gateway.servers()[0]?.failure?.message, pollOptions).toContain(`${envFile} cannot be read`);
    expect(gateway.servers()[0]?.failure?.code).toBe("VARIABLE_UNUSABLE");
    writeFileSync(envFile, "LEVEL=debug\n");
    await expect.poll(() => gateway.servers()[0]?.state, pollOptions).toBe("READY");
  });

  test("adds a server that starts later, and notifies clients", async () => {
    const { entry, start } = await lateServer();
    const gateway = await startTestGateway({ late: entry });
    let changes = 0;
    const client = await connect(gateway, "legacy", {
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => (changes += 1) } },
    });
    expect((await client.listTools()).tools).toEqual([]);
    start();
    await expect.poll(() => changes, pollOptions).toBeGreaterThan(0);
    await expect
      .poll(
        async () => (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name),
        pollOptions,
      )
      .toEqual(["late__echo"]);
  });
});

describe("a server that is silent during a call", () => {
  const makeSilent = () => {
    const server = new McpServer({ name: "silent", version: "1" }, { capabilities: { tools: {} } });
    server.registerTool("hang", { inputSchema: z.object({}) }, (_, context) => {
      return new Promise((resolve) => {
        context.mcpReq.signal.addEventListener("abort", () => {
          aborted = true;
          resolve({ content: [] });
        });
      });
    });
    return server;
  };
  let aborted = false;

  test.each(["legacy", "modern"] as const)("cancels the call, and sends the reason to the client (%s)", async (era) => {
    aborted = false;
    const url = await (era === "legacy" ? serveLegacy : serveModern)(makeSilent);
    const gateway = await startTestGateway({ quiet: { type: "http", url } }, { limits: { callIdleMs: 2000 } });
    const client = await connect(gateway, "modern");
    await expect(client.callTool({ name: "quiet__hang", arguments: {} })).rejects.toThrow(
      /neither responded to tools\/call/,
    );
    await expect.poll(() => aborted, pollOptions).toBe(true);
    expect(gateway.events.findLast(({ kind }) => kind === "call")).toMatchObject({ outcome: "error" });
  });
});
