import { expect, test } from "vitest";
import { startAllFaultServers, withEach } from "./fault-servers.test.helper.js";
import {
  activeResources,
  expectNothingLeft,
  failureOf,
  openConnection,
  textOf,
  until,
} from "./tool-server-world.test.helper.js";

expectNothingLeft();

const hang = (text: string) => ({ name: "hang", arguments: { text } });

test("[TS-D-CONN-1] fails each of 200 calls in flight once and clearly if a server is killed, and uses the server again when it is back", async () => {
  await withEach(await startAllFaultServers(), async (server) => {
    const connection = await openConnection(server.entry);
    expect((await connection.connect()).era).toBe(server.era);
    const calls = Array.from({ length: 200 }, (_, index) => failureOf(connection.callTool(hang(`${index}`))));
    await until(() => expect(server.count("run hang")).toBe(200));
    await server.kill();
    for (const { code, message, details } of await Promise.all(calls)) {
      const expected = server.kind === "stdio" ? "CHILD_EXITED" : "CONNECTION_LOST";
      expect([code, details.wasSent, message]).toEqual([expected, true, expect.stringContaining('"faulty"')]);
    }
    await server.restart();
    expect(await textOf(connection, "echo", { text: "again" })).toBe("again");
    expect(connection.state).toBe("READY");
    const runs = server.lines().filter((line) => line.startsWith("run"));
    expect(new Set(runs).size).toBe(201);
    expect(runs).toHaveLength(201);
  });
});

test("[TS-D-CONN-1] repeats list requests once if a stdio server is killed, because they change nothing", async () => {
  await withEach(await startAllFaultServers(["stdio"]), async (server) => {
    const connection = await openConnection(server.entry);
    expect(await textOf(connection, "echo", { text: "before" })).toBe("before");
    server.signal("SIGSTOP");
    const lists = Promise.all(Array.from({ length: 20 }, () => connection.listTools()));
    const call = failureOf(textOf(connection, "echo", { text: "stopped" }));
    await server.kill();
    for (const { tools } of await lists) expect(tools.map(({ name }) => name)).toContain("echo");
    expect((await call).code).toBe("CHILD_EXITED");
    expect([server.count("session"), server.count("run echo stopped")]).toEqual([2, 0]);
  });
});

test("[TS-D-CONN-2] ends calls to a hanging server at their timeout, keeps nothing of them, and uses it again once it responds", async () => {
  const servers = await startAllFaultServers();
  const connections = await Promise.all(
    servers.map(({ entry }) => openConnection(entry, { limits: { connectMs: 1000 } })),
  );
  for (const connection of connections) expect(await textOf(connection, "echo", { text: "before" })).toBe("before");
  const before = activeResources();
  for (const server of servers) server.signal("SIGSTOP");
  const calls = connections.flatMap((connection) =>
    Array.from({ length: 30 }, (_, index) =>
      failureOf(connection.callTool({ name: "echo", arguments: { text: `${index}` } }, { idleTimeoutMs: 300 })),
    ),
  );
  for (const { code, message } of await Promise.all(calls)) {
    expect([code, message]).toEqual(["CALL_TIMEOUT", expect.stringContaining("for 300 ms")]);
  }
  // An abandoned call has no socket and no timer: only those of the connections remain.
  await until(() => {
    for (const [kind, count] of Object.entries(activeResources())) {
      expect([kind, count - (before[kind] ?? 0) <= servers.length]).toEqual([kind, true]);
    }
  });
  for (const server of servers) server.signal("SIGCONT");
  for (const connection of connections) expect(await textOf(connection, "echo", { text: "after" })).toBe("after");
  for (const server of servers) expect(server.count("run echo after")).toBe(1);
});

test("[TS-D-CONN-3] fails calls at once and clearly while a server is down, and pauses between attempts to connect", async () => {
  await withEach(await startAllFaultServers(["http", "sse", "ws"]), async (server) => {
    const connection = await openConnection(server.entry, { backOff: { firstMs: 60_000, maxMs: 60_000 } });
    await connection.connect();
    await server.kill();
    await until(async () => {
      await failureOf(textOf(connection, "echo"));
      expect(connection.state).toBe("TRANSIENT_FAILURE");
    });
    const { code, message, details } = await failureOf(textOf(connection, "echo"));
    // A server whose stream ended reported that before the call.
    expect(code).toMatch(/^(SERVER_UNREACHABLE|CONNECTION_LOST)$/);
    expect([details.wasSent, message]).toEqual([
      false,
      expect.stringMatching(/It is tried again with the first call after \d+ s\./),
    ]);
    await server.restart();
    // A client can skip the wait explicitly.
    await connection.connect();
    expect(await textOf(connection, "echo", { text: "back" })).toBe("back");
  });
});
