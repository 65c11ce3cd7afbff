import { describe, expect, test } from "vitest";
import { failureOf } from "../failure-of.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import { createMemoryConnection, transportFailure } from "./memory-server.test.helper.js";

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return (await failureOf(promise)).code;
}

const wait = { name: "wait", arguments: {} };

describe("[TS-D-CONN-2] the total time limit of a call", () => {
  test("counts the time from the first moment, also while connecting, and says that such a call was not sent", async () => {
    const { clock, connection } = createMemoryConnection({ beforeOpen: () => new Promise(() => {}) });
    const limit = { totalTimeoutMs: 1000 };
    const calls = [connection.callTool(wait, limit), connection.request("tools/call", wait, limit)].map(failureOf);
    clock.advance(1000);
    for (const failure of await Promise.all(calls)) {
      expect(failure).toMatchObject({ code: "CALL_TIMEOUT", details: { wasSent: false } });
      expect(failure.message).toContain("before it was sent");
    }
    await connection.close();
  });

  test("says that a call that was sent may have reached the server", async () => {
    const { server, clock, connection } = createMemoryConnection();
    await connection.connect();
    const limit = { totalTimeoutMs: 1000 };
    const calls = [connection.callTool(wait, limit), connection.request("tools/call", wait, limit)].map(failureOf);
    await expect.poll(() => server.runs, waiting).toBe(2);
    clock.advance(1000);
    for (const failure of await Promise.all(calls)) {
      expect(failure).toMatchObject({ code: "CALL_TIMEOUT", details: { wasSent: true } });
    }
    await connection.close();
  });

  test("leaves no timer behind, and no listener on the caller's signal", async () => {
    const { server, clock, connection } = createMemoryConnection();
    await connection.connect();
    const before = clock.waiting;
    const controller = new AbortController();
    const { signal } = controller;
    const call = connection.callTool(wait, { totalTimeoutMs: 1000, signal });
    await expect.poll(() => server.runs, waiting).toBe(1);
    server.release();
    await call;
    expect(clock.waiting).toBe(before);
    const late = codeOf(connection.callTool(wait, { totalTimeoutMs: 1000, signal }));
    controller.abort();
    expect(await late).toBe("CALL_CANCELLED");
    expect(clock.waiting).toBe(before);
    await connection.close();
  });
});

test("treats a time limit that is longer than a timer can be as no limit", async () => {
  const { server, connection } = createMemoryConnection({ idleTimeoutMs: Number.POSITIVE_INFINITY });
  const call = connection.callTool(wait);
  await expect.poll(() => server.runs, waiting).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  server.release();
  expect((await call).content).toEqual([{ type: "text", text: "released" }]);
  await connection.close();
});

describe("a connection that is closed", () => {
  test("rejects calls that wait for the back-off at once when the connection is closed", async () => {
    const { server, clock, connection } = createMemoryConnection({ backOff: { firstMs: 1500, maxMs: 1500 } });
    server.startFailure = transportFailure("SERVER_UNREACHABLE", false);
    expect(await codeOf(connection.connect())).toBe("SERVER_UNREACHABLE");
    const call = codeOf(connection.callTool(wait));
    await connection.close();
    expect(await call).toBe("CONNECTION_CLOSED");
    expect(clock.waiting).toBe(0);
  });

  test("does not wait for the check before opening when the connection is closed", async () => {
    const { connection } = createMemoryConnection({ beforeOpen: () => new Promise(() => {}) });
    const call = codeOf(connection.callTool(wait));
    await connection.close();
    expect(await call).toBe("CONNECTION_CLOSED");
  });
});

test("[TS-D-CONN-1] does not repeat a call that was in flight on a lost session", async () => {
  const { server, connection } = createMemoryConnection();
  await connection.connect();
  const call = codeOf(connection.callTool(wait));
  await expect.poll(() => server.runs, waiting).toBe(1);
  server.die(transportFailure("SESSION_LOST", false));
  expect(await call).toBe("SESSION_LOST");
  expect(server.runs).toBe(1);
  await connection.close();
});
