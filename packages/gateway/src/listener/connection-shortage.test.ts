import { expect, test } from "vitest";
import type { GatewayEvent } from "../events.js";
import { createConnectionShortages } from "./connection-shortage.js";

test("[CZ-D-LISTEN-12] logs a shortage of connections once, and again only after ten minutes without one", () => {
  const events: GatewayEvent[] = [];
  let nowMs = 0;
  const emit = (event: unknown): void => void events.push(event as GatewayEvent);
  const { onShortage, current } = createConnectionShortages({ emit }, { now: () => nowMs });
  expect(current()).toBeUndefined();
  for (nowMs = 0; nowMs <= 3_600_000; nowMs += 599_999) {
    onShortage({ maxConnections: 128, maxOpenFiles: 256 });
    expect(current()).toMatch(/limit of 128 connections .* may open 256 files.* Raise that limit/);
  }
  expect(events).toEqual([{ kind: "refused", limit: "connections", reason: current() }]);
  nowMs += 600_000;
  expect(current()).toBeUndefined();
  onShortage({ maxConnections: 8192, maxOpenFiles: undefined });
  expect(current()).toMatch(/^The limit of 8192 connections (?!.*files)/);
  expect(events).toHaveLength(2);
});
