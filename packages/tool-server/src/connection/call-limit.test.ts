import { describe, expect, test } from "vitest";
import { createTell } from "../diagnostics/tell.js";
import { ToolServerError } from "../errors.js";
import { createFakeClock } from "../process/fake-clock.test.helper.js";
import { createSecretRegistry } from "../secrets/redactor.js";
import { type ConnectionOptions, createConnection } from "./create-connection.js";
import { createMemoryServer, failureOf } from "./memory-server.test.helper.js";

function setUp(options: Partial<ConnectionOptions> = {}) {
  const server = createMemoryServer();
  const clock = createFakeClock();
  const secrets = createSecretRegistry();
  const connection = createConnection({
    facts: server.facts,
    openTransport: () => server.openTransport(),
    settings: { info: { name: "test", version: "0" } },
    tell: createTell(secrets),
    redact: secrets.redact,
    clock,
    random: () => 1,
    ...options,
  });
  return { server, clock, connection };
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return ToolServerError.is(error) ? error.code : String(error);
}

const wait = { name: "wait", arguments: {} };

describe("[TS-D-CONN-2] the time that a call may take in all", () => {
  test("counts from the first moment, also while it connects", async () => {
    const { clock, connection } = setUp({ beforeOpen: () => new Promise(() => {}) });
    const call = codeOf(connection.callTool(wait, { totalTimeoutMs: 1000 }));
    clock.advance(1000);
    expect(await call).toBe("CALL_TIMEOUT");
    await connection.close();
  });

  test("leaves no timer behind, and no listener on the caller's signal", async () => {
    const { server, clock, connection } = setUp();
    await connection.connect();
    const before = clock.waiting;
    const controller = new AbortController();
    const { signal } = controller;
    const call = connection.callTool(wait, { totalTimeoutMs: 1000, signal });
    await expect.poll(() => server.runs).toBe(1);
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

test("a time limit that is longer than a timer can be is no limit", async () => {
  const { server, connection } = setUp({ idleTimeoutMs: Number.POSITIVE_INFINITY });
  const call = connection.callTool(wait);
  await expect.poll(() => server.runs).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  server.release();
  expect((await call).content).toEqual([{ type: "text", text: "released" }]);
  await connection.close();
});

describe("a connection that is closed", () => {
  test("lets go at once those who wait until a failure has rested", async () => {
    const { server, clock, connection } = setUp({ backOff: { firstMs: 1500, mostMs: 1500 } });
    server.startFailure = failureOf("SERVER_UNREACHABLE", false);
    expect(await codeOf(connection.connect())).toBe("SERVER_UNREACHABLE");
    const call = codeOf(connection.callTool(wait));
    await connection.close();
    expect(await call).toBe("CONNECTION_CLOSED");
    expect(clock.waiting).toBe(0);
  });

  test("does not wait for who is asked whether it may be opened", async () => {
    const { connection } = setUp({ beforeOpen: () => new Promise(() => {}) });
    const call = codeOf(connection.callTool(wait));
    await connection.close();
    expect(await call).toBe("CONNECTION_CLOSED");
  });
});

test("[TS-D-CONN-1] a call that was in flight on a session which is lost is not made again", async () => {
  const { server, connection } = setUp();
  await connection.connect();
  const call = codeOf(connection.callTool(wait));
  await expect.poll(() => server.runs).toBe(1);
  server.die(failureOf("SESSION_LOST", false));
  expect(await call).toBe("SESSION_LOST");
  expect(server.runs).toBe(1);
  await connection.close();
});
