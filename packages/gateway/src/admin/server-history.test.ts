import { create } from "@bufbuild/protobuf";
import { expect, onTestFinished, test } from "vitest";
import type { GatewayEvents } from "../events.js";
import { ConnectivityState, type Server, ServerSchema } from "../gen/wirescope/v1/admin_pb.js";
import { createServerHistory, type ServerHistory, type ServerHistoryOptions } from "./server-history.js";

interface World {
  readonly history: ServerHistory;
  /** Sets the servers at a time, and waits until they are recorded. */
  set(timeMs: number, servers: Readonly<Record<string, ConnectivityState>>): Promise<void>;
}

const { READY, CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;

function start(options: Partial<ServerHistoryOptions> = {}): World {
  let current: Server[] = [];
  let time = 0;
  let emit = (): void => {};
  const subscribe: GatewayEvents["subscribe"] = (listeners) => {
    emit = () => listeners["server-state"]?.({ kind: "server-state", server: "a", state: "READY", reason: undefined });
    return () => {};
  };
  const history = createServerHistory({ read: () => current, events: { subscribe }, now: () => time, ...options });
  onTestFinished(history.close);
  return {
    history,
    async set(timeMs, servers) {
      current = Object.entries(servers).map(([name, state]) => create(ServerSchema, { name, state }));
      time = timeMs;
      emit();
      await expect.poll(() => history.at(timeMs).timeMs).toBe(timeMs);
    },
  };
}

const statesOf = ({ servers }: ReturnType<ServerHistory["at"]>): object =>
  Object.fromEntries(servers.map(({ name, state }) => [name, state]));

test("[TS-D-ADMIN-10] shows the servers as they were at a time", async () => {
  const { history, set } = start();
  await set(1_000, { a: CONNECTING, b: READY });
  await set(2_000, { a: READY, b: READY });
  await set(3_000, { b: TRANSIENT_FAILURE });
  expect(statesOf(history.at(1_999))).toEqual({ a: CONNECTING, b: READY });
  expect(statesOf(history.at(2_000))).toEqual({ a: READY, b: READY });
  expect(statesOf(history.at(9_000))).toEqual({ b: TRANSIENT_FAILURE });
  expect(statesOf(history.at(-1))).toEqual({});
});

test("[TS-D-ADMIN-10] drops records older than the maximum age, but not the one that still applies", async () => {
  const { history, set } = start({ maxAgeMs: 10_000 });
  await set(1_000, { a: CONNECTING });
  await set(2_000, { a: READY });
  await set(15_000, { a: TRANSIENT_FAILURE });
  expect(history.at(5_000)).toMatchObject({ timeMs: 2_000 });
  await set(30_000, { a: READY });
  expect(history.at(5_000)).toMatchObject({ timeMs: 15_000 });
});

test("[TS-D-ADMIN-10] keeps the newest record, however small the memory limit", async () => {
  const { history, set } = start({ maxBytes: 1 });
  for (const timeMs of [1_000, 2_000]) await set(timeMs, { a: timeMs === 1_000 ? CONNECTING : READY });
  expect(history.at(0)).toMatchObject({ timeMs: 2_000 });
});
