import { McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { z } from "zod";
import { connect, patience, pluginOf, startTestGateway, textOf } from "./gateway.test.helper.js";
import { everything, makeEcho, serveLegacy, serveModern } from "./tool-servers.test.helper.js";

test("what did not change goes on, what changed is begun anew, what is gone ends, and clients are told", async () => {
  let release = (): void => {};
  let initialized = 0;
  const makeHold = () => {
    initialized += 1;
    const server = new McpServer({ name: "kept", version: "1" }, { capabilities: { tools: {} } });
    server.registerTool("hold", { inputSchema: z.object({}) }, async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return { content: [{ type: "text", text: "held" }] };
    });
    return server;
  };
  const kept = { type: "http", url: await serveLegacy(makeHold) };
  const before = {
    kept,
    changed: { type: "http", url: await serveModern(makeEcho("before")) },
    removed: { type: "http", url: await serveModern(makeEcho("removed")) },
  };
  const gateway = await startTestGateway(before);
  let changes = 0;
  const client = await connect(gateway, "legacy", {
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => (changes += 1) } },
  });
  const names = async () =>
    (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name).sort();
  expect(await names()).toEqual(["changed__echo", "kept__hold", "removed__echo"]);
  const held = client.callTool({ name: "kept__hold", arguments: {} });
  await expect.poll(() => gateway.gateway.servers()[0]?.callsInFlight, patience).toBe(1);
  changes = 0;

  const after = {
    added: { type: "http", url: await serveModern(makeEcho("added")) },
    changed: { type: "http", url: await serveModern(makeEcho("after")) },
    kept,
  };
  await gateway.gateway.reload([pluginOf(after)]);
  expect(gateway.gateway.servers().map(({ name }) => name)).toEqual(["added", "changed", "kept"]);
  await expect.poll(() => changes, patience).toBeGreaterThan(0);
  expect(await names()).toEqual(["added__echo", "changed__echo", "kept__hold"]);
  expect(textOf(await client.callTool({ name: "changed__echo", arguments: { text: "a" } }))).toBe("after: a");
  await expect(client.callTool({ name: "removed__echo", arguments: { text: "a" } })).rejects.toThrow(
    /There is no tool/,
  );
  release();
  expect(textOf(await held)).toBe("held");
  expect(initialized).toBe(1);
  expect(gateway.events.findLast(({ kind }) => kind === "reloaded")).toEqual({
    kind: "reloaded",
    added: ["added"],
    removed: ["removed"],
    changed: ["changed"],
  });
});

test("a variable that an entry uses is part of it, and so are the tools that are offered", async () => {
  const reference = `\${MARK}`;
  const entries = { all: { command: process.execPath, args: [everything, "stdio"], env: { MARK: reference } } };
  const plugin = (MARK: string) => pluginOf(entries, { variables: { PATH: process.env.PATH, MARK } });
  const gateway = await startTestGateway({}, { plugins: [plugin("first")] });
  const changedBy = async (...args: Parameters<typeof gateway.gateway.reload>): Promise<readonly string[]> => {
    await gateway.gateway.reload(...args);
    const told = gateway.events.findLast(({ kind }) => kind === "reloaded");
    return told?.kind === "reloaded" ? told.changed : [];
  };
  expect(await changedBy([plugin("first")])).toEqual([]);
  expect(await changedBy([plugin("second")])).toEqual(["all"]);
  expect(await changedBy([plugin("second")], { all: { allow: ["echo"] } })).toEqual(["all"]);
  const client = await connect(gateway, "modern");
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["all__echo"]);
  await expect(client.callTool({ name: "all__get-sum", arguments: { a: 1, b: 2 } })).rejects.toThrow(
    /There is no tool/,
  );
});

test("where two plugins have a server of one name, the first is used, and that is told", async () => {
  const [first, second] = [await serveModern(makeEcho("first")), await serveModern(makeEcho("second"))];
  const plugins = [first, second].map((url) => pluginOf({ same: { type: "http", url } }));
  const gateway = await startTestGateway({}, { plugins });
  const client = await connect(gateway, "modern");
  expect(textOf(await client.callTool({ name: "same__echo", arguments: { text: "a" } }))).toBe("first: a");
  expect(gateway.events.find(({ kind }) => kind === "defect")).toMatchObject({
    reason: expect.stringContaining("Two plugins have a server"),
  });
});

test("an entry that may not act is told as such, and tried again when it may", async () => {
  const url = await serveModern(makeEcho("shy"));
  let isTrusted = false;
  const assertTrusted = async () => {
    if (!isTrusted) throw new Error("It is not approved yet.");
  };
  const plugin = pluginOf({ shy: { type: "http", url } }, { assertTrusted });
  const gateway = await startTestGateway({}, { plugins: [plugin] });
  const client = await connect(gateway, "modern");
  expect((await client.listTools()).tools).toEqual([]);
  expect(gateway.gateway.servers()[0]).toMatchObject({
    state: "TRANSIENT_FAILURE",
    failure: { message: "It is not approved yet." },
  });
  isTrusted = true;
  await gateway.gateway.reconnect("shy");
  await expect
    .poll(async () => (await client.listTools(undefined, { cacheMode: "refresh" })).tools.length, patience)
    .toBe(1);
  await expect(gateway.gateway.reconnect("nobody")).rejects.toMatchObject({ code: "SERVER_UNKNOWN" });
});
