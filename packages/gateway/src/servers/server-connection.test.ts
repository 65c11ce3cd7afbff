import { type Clock, createSecretRegistry, ToolServerError } from "@wirescope/tool-server";
import { expect, onTestFinished, test } from "vitest";
import type { GatewayEvent } from "../events.js";
import { configurationOf, pollOptions } from "../gateway.test.helper.js";
import { small } from "../tool-servers.test.helper.js";
import { createServerConnection } from "./server-connection.js";

/** A connection whose entry cannot be opened while there is a problem, and a clock that the test controls. */
function createWorld() {
  const events: GatewayEvent[] = [];
  const world = { problem: "The policy cannot be read." as string | undefined, attempts: 0, now: 0 };
  let timers: { readonly delayMs: number; readonly wake: () => void }[] = [];
  const clock: Clock = {
    now: () => world.now,
    after(delayMs, wake) {
      const timer = { delayMs, wake };
      timers.push(timer);
      return () => {
        timers = timers.filter((each) => each !== timer);
      };
    },
  };
  const configured = configurationOf({ all: small });
  const [entry] = configured.configuration.entries;
  if (entry === undefined) throw new Error("no entry");
  const connection = createServerConnection({
    entry,
    settings: {
      ...configured,
      secrets: createSecretRegistry(),
      isEager: true,
      settings: { info: { name: "test", version: "1" } },
      async assertTrusted() {
        world.attempts += 1;
        const { problem } = world;
        if (problem !== undefined) throw new ToolServerError("POLICY_UNREADABLE", { problem, advice: "" });
      },
    },
    clock,
    events: { emit: (event) => void events.push(event as GatewayEvent) },
    advise: (error) => error,
    onReady: () => {},
    onFailed: () => {},
  });
  onTestFinished(() => connection.close());
  const delays = (): number[] => timers.map(({ delayMs }) => delayMs);
  const retry = (): void => {
    const [timer] = timers.splice(0);
    world.now += timer?.delayMs ?? 0;
    timer?.wake();
  };
  const reported = (): unknown[] =>
    events.map((event) => (event.kind === "server-state" ? (event.reason ?? event.state) : event.kind));
  return { world, connection, delays, retry, reported };
}

test("opens an entry that could not be opened again after increasing delays, without a client, and reports each reason once", async () => {
  const { world, connection, delays, retry, reported } = createWorld();
  await expect(connection.open()).rejects.toThrow("The policy cannot be read.");
  for (const delayMs of [5000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000]) {
    expect(delays()).toEqual([delayMs]);
    const { attempts } = world;
    retry();
    await expect.poll(delays, pollOptions).toHaveLength(1);
    expect(world.attempts).toBe(attempts + 1);
  }
  world.problem = "The server is pending approval.";
  retry();
  await expect.poll(delays, pollOptions).toEqual([300_000]);
  expect(reported()).toEqual(["The policy cannot be read.", "The server is pending approval."]);
  expect(connection.failure).toMatchObject({ message: "The server is pending approval.", since: 0, at: world.now });
  world.problem = undefined;
  retry();
  await expect.poll(() => connection.current?.state, pollOptions).toBe("READY");
  expect(delays()).toEqual([]);
  expect(reported().slice(2)).toEqual(["READY"]);
});

test("does not postpone the retry of an entry for the attempts of clients", async () => {
  const { world, connection, delays } = createWorld();
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await expect(connection.open()).rejects.toThrow("The policy cannot be read.");
    expect(world.attempts).toBe(attempt);
    world.now += 2000;
  }
  expect(delays()).toEqual([5000]);
});

test.each(["retire", "close"] as const)("leaves no retry behind that would open an entry after %s", async (method) => {
  const { world, connection, delays } = createWorld();
  await expect(connection.open()).rejects.toThrow("The policy cannot be read.");
  await connection[method]();
  expect(delays()).toEqual([]);
  expect(world.attempts).toBe(1);
});
