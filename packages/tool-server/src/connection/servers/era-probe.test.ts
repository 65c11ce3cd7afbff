import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failureOf } from "../../failure-of.test.helper.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { openEagerConnection } from "./eager-connection.test.helper.js";

/** Creates a stdio server that is killed at these starts when it gets the probe, as by the system or a user. */
async function createServer(
  era: "legacy" | "modern",
  killedAt: readonly number[],
  refusal = { code: -32_601, message: "Method not found" },
) {
  const folder = await createScriptFolder();
  const log = join(folder.path, "log");
  const command = await folder.node(`
    const { appendFileSync, readFileSync } = require("node:fs");
    const write = (text) => appendFileSync(${JSON.stringify(log)}, text + "\\n");
    write("start");
    const starts = readFileSync(${JSON.stringify(log)}, "utf8").split("start").length - 1;
    const results = ${era === "legacy"}
      ? { initialize: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "s", version: "1" } }, ping: {} }
      : { "server/discover": { supportedVersions: ["2026-07-28"], capabilities: {}, ttlMs: 0, cacheScope: "private" } };
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      write(method);
      if (method === "test/exit") process.exit(1);
      if (method === "server/discover" && ${JSON.stringify(killedAt)}.includes(starts)) process.kill(process.pid, "SIGKILL");
      const result = results[method];
      const error = ${JSON.stringify(refusal)};
      console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) }));
    });
  `);
  const lines = () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []);
  return { ...(await openEagerConnection({ command })), lines };
}

test("a server known to be of the newer era that is killed at the probe after a restart fails with that reason, and is probed again", async () => {
  const { connection, clock, lines } = await createServer("modern", [2]);
  const failures: string[] = [];
  connection.onState(({ failure }) => void (failure && failures.push(failure.message)));
  await expect.poll(() => connection.state, waiting).toBe("READY");
  await connection.request("test/exit", {}).catch(() => {});
  for (const reason of [/exited with code 1/, /ended by SIGKILL/]) {
    await expect.poll(() => connection.state, waiting).toBe("TRANSIENT_FAILURE");
    expect(failures.at(-1)).toMatch(reason);
    clock.advance(60_000);
  }
  await expect.poll(() => connection.state, waiting).toBe("READY");
  expect(lines().join()).not.toContain("initialize");
});

test("a server that refuses the older handshake after it was killed at the probe is probed again at once", async () => {
  const { connection, lines } = await createServer("modern", [1]);
  await connection.connect();
  expect(connection.server?.era).toBe("modern");
  expect(lines().slice(0, 6)).toEqual(["start", "server/discover", "start", "initialize", "start", "server/discover"]);
});

test("a server that ends at each probe, and refuses the older handshake, is not tried without a pause", async () => {
  const { connection, lines } = await createServer("modern", [1, 3, 5, 7, 9]);
  expect(await failureOf(connection.connect())).toMatchObject({ code: "CHILD_EXITED" });
  expect(lines().filter((line) => line === "start")).toHaveLength(3);
});

test("connects in the older era to a server that ends at the probe and accepts the older handshake", async () => {
  const { connection, lines } = await createServer("legacy", [1, 2, 3]);
  await connection.connect();
  expect(connection.server?.era).toBe("legacy");
  expect(lines()).toEqual(["start", "server/discover", "start", "initialize"]);
});

test("a server that ends at the probe, and refuses the older handshake for a reason of its own, fails with that reason", async () => {
  const { connection, lines } = await createServer("modern", [1, 2, 3], { code: -32_603, message: "No API key" });
  expect(await failureOf(connection.connect())).toMatchObject({
    code: "CALL_REFUSED",
    message: expect.stringContaining("No API key"),
  });
  expect(lines().filter((line) => line === "start")).toHaveLength(2);
});

test("[TS-D-CONN-7] a server that writes its messages in another way is started once for each attempt", async () => {
  const folder = await createScriptFolder();
  const log = join(folder.path, "log");
  const command = await folder.node(`
    require("node:fs").appendFileSync(${JSON.stringify(log)}, "start\\n");
    process.stdin.resume().once("data", () => console.log("Content-Length: 2"));
  `);
  const { connection } = await openEagerConnection({ command });
  expect(await failureOf(connection.connect())).toMatchObject({ code: "NOT_A_TOOL_SERVER" });
  expect(readFileSync(log, "utf8")).toBe("start\n");
});
