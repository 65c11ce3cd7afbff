import { expect, onTestFinished, test } from "vitest";
import { createTell } from "../diagnostics/tell.js";
import { createFakeClock, type FakeClock } from "../process/fake-clock.test.helper.js";
import { createSecretRegistry } from "../secrets/redactor.js";
import type { Connection } from "./connection.js";
import { createConnection } from "./create-connection.js";
import { createMemoryServer, type MemoryServer } from "./memory-server.test.helper.js";

interface Setting {
  readonly server: MemoryServer;
  readonly clock: FakeClock;
  readonly connection: Connection;
  /** Whether somebody is asked. */
  isAsked: boolean;
}

function setUp(): Setting {
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
    isPersonAsked: () => setting.isAsked,
  });
  onTestFinished(() => connection.close());
  const setting: Setting = { server, clock, connection, isAsked: false };
  return setting;
}

const minute = 60_000;

test("the time that a person takes is no silence of the server; what comes after is", async () => {
  const setting = setUp();
  const { server, clock, connection } = setting;
  const call = connection.callTool({ name: "wait", arguments: {} });
  const settled = call.catch((error: unknown) => error);
  await expect.poll(() => server.runs).toBe(1);
  setting.isAsked = true;
  clock.advance(10 * minute);
  setting.isAsked = false;
  const cancelled = new Promise((resolve) => {
    server.onCancelled = resolve;
  });
  clock.advance(minute);
  expect(await settled).toMatchObject({
    code: "CALL_TIMEOUT",
    message: expect.stringContaining("nor told of progress for 60 s"),
  });
  // The server is told to stop.
  await cancelled;
  expect(clock.waiting).toBe(0);
});

test("a call goes on after a person took their time, and who gives up meanwhile is heard", async () => {
  const setting = setUp();
  const { server, clock, connection } = setting;
  const caller = new AbortController();
  const [first, second] = [undefined, caller.signal].map((signal) =>
    connection.callTool({ name: "wait", arguments: {} }, { signal }).catch((error: unknown) => error),
  );
  await expect.poll(() => server.runs).toBe(2);
  setting.isAsked = true;
  clock.advance(10 * minute);
  caller.abort();
  expect(await second).toMatchObject({ code: "CALL_CANCELLED" });
  server.release();
  expect(await first).toMatchObject({ content: [{ text: "released" }] });
});
