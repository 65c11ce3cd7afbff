import type { ConnectionInfo, PhaseSubject, SocketInfo } from "@wirescope/tool-server";
import { channels } from "@wirescope/tool-server";
import { expect, onTestFinished, test } from "vitest";
import type { CallEnding } from "../../call-observer.js";
import { type CallSession, type ClientAccount, ClientCall } from "../../client-call.js";
import { type CallLog, type CallLogOptions, createCallLog } from "./call-log.js";

class TestCall extends ClientCall {
  readonly account: ClientAccount;
  readonly session: CallSession | undefined = undefined;
  readonly capabilities = {};
  readonly logLevel = undefined;
  readonly progressToken = undefined;

  constructor(id: number, client: string, params: Record<string, unknown> = { name: "read" }) {
    super({ id, method: "tools/call", params }, "modern", undefined);
    this.account = { label: client } as ClientAccount;
  }

  respond(): void {}

  notify(): void {}

  ask(): Promise<never> {
    return Promise.reject(new Error("not asked"));
  }
}

const ok: CallEnding = { kind: "ok", error: undefined, durationMs: 2 };

function openLog(options: Partial<CallLogOptions> = {}): CallLog {
  const onDefect = (error: unknown): never => {
    throw error;
  };
  const log = createCallLog({ objectId: () => 7, redact: (text) => text, now: () => Date.now(), onDefect, ...options });
  onTestFinished(() => log.close());
  return log;
}

function run(log: CallLog, count: number, client = "editor 1.0"): void {
  for (let id = 0; id < count; id += 1) {
    const call = new TestCall(id, client);
    log.started?.(call);
    call.setRoute("notes", "read");
    log.ended?.(call, ok);
  }
}

test("[TS-D-CALLS-3] redacts the secrets of a server in the captured arguments, although the server is found after the call started", () => {
  const redact = (text: string, server: string | undefined): string =>
    server === "notes" ? text.replaceAll("revealed", "[redacted]") : text;
  const log = openLog({ capturesBodies: true, redact });
  const call = new TestCall(1, "editor 1.0", { name: "notes__read", arguments: { note: "revealed" } });
  log.started?.(call);
  call.setRoute("notes", "read");
  call.settle({ result: { text: "revealed" } });
  log.ended?.(call, ok);
  const { body } = log.find(`${log.prefix}1`)!;
  expect(JSON.parse(body?.request.text ?? "")).toEqual({ name: "notes__read", arguments: { note: "[redacted]" } });
  expect(JSON.parse(body?.response?.text ?? "")).toEqual({ result: { text: "[redacted]" } });
});

const numbersOf = (log: CallLog, count = 0): number[] => log.endedSince(count).map(({ number }) => number);

test("[TS-D-CALLS-1] keeps a number of calls, and says how many have ended since the start", () => {
  const log = openLog({ maxCalls: 3 });
  run(log, 5);
  expect(numbersOf(log)).toEqual([3, 4, 5]);
  expect(log.endedCount).toBe(5);
  expect(numbersOf(log, 4)).toEqual([5]);
  expect(numbersOf(log, 5)).toEqual([]);
  expect(log.find(`${log.prefix}2`)).toBeUndefined();
  expect(log.find(`${log.prefix}3`)).toMatchObject({ server: "notes", name: "read" });
});

test("[TS-D-CALLS-1] keeps fewer calls if they are large, but always the last one", () => {
  const log = openLog({ maxCalls: 1000, maxBytes: 16_384 });
  run(log, 100, "x".repeat(100_000));
  const kept = log.endedSince(0);
  expect(kept.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(16_384);
  expect(kept.length).toBeGreaterThan(1);
  expect(kept.every(({ client }) => client.length <= 1025)).toBe(true);
  const small = openLog({ maxBytes: 1 });
  run(small, 2);
  expect(numbersOf(small)).toEqual([2]);
});

test("keeps no socket in memory after the call, only its ids, and at most 64 phases", () => {
  const log = openLog({
    objectId: (subject: PhaseSubject) => ("transport" in subject ? 3 : "connection" in subject ? 2 : 1),
  });
  const connection = { name: "notes" } as ConnectionInfo;
  const socket = { kind: "child", transport: { connection, target: "" }, pid: 1, command: "" } as SocketInfo;
  const call = new TestCall(1, "editor");
  log.started?.(call);
  for (let count = 0; count < 100; count += 1) call.phases?.begin("server", socket);
  log.ended?.(call, ok);
  const [record] = log.endedSince(0);
  expect(record?.phases.list).toHaveLength(64);
  expect(record?.phases.omitted).toBe(36);
  expect(record?.phases.list[0]?.used).toEqual({ channel: 1, subchannel: 2, socket: 3 });
  expect(call.phases).toBeUndefined();
});

test("[TS-D-CALLS-1] records a refresh in every call that waits for its connection, and in no other", () => {
  const log = openLog();
  const [notes, other] = [{ name: "notes" } as ConnectionInfo, { name: "other" } as ConnectionInfo];
  const calls = [1, 2, 3].map((id) => new TestCall(id, "editor"));
  for (const call of calls) log.started?.(call);
  const [first, second, third] = calls;
  const operation = { subject: notes, kind: "refresh", cause: "renewal" };
  first?.phases?.begin("credential", notes);
  third?.phases?.begin("credential", other);
  channels["credential:started"].publish(operation);
  // It joins the refresh in progress.
  second?.phases?.begin("credential", notes);
  channels["credential:ended"].publish({ operation, outcome: "failed", code: "TOKEN_REFUSED", durationMs: 5 });
  for (const call of calls) log.ended?.(call, { ...ok, kind: "error" });
  // After the calls have ended, they receive nothing more.
  channels["credential:started"].publish(operation);
  const outlines = log
    .endedSince(0)
    .map(({ phases }) => phases.list.map(({ name, depth, hasFailed, reason }) => [name, depth, hasFailed, reason]));
  const credential = ["credential", 0, true, undefined];
  const refresh = ["refresh", 1, true, "TOKEN_REFUSED"];
  expect(outlines).toEqual([[credential, refresh], [credential, refresh], [credential]]);
});

test("[TS-D-CALLS-3] counts captured arguments by their size after the secrets of the server are redacted", () => {
  const redact = (text: string, server: string | undefined): string =>
    server === "notes" ? text.replaceAll("revealed ", "") : text;
  const log = openLog({ capturesBodies: true, redact });
  const text = Array.from({ length: 8 }, () => "revealed ".repeat(1000));
  for (let id = 0; id < 120; id += 1) {
    const call = new TestCall(id, "editor", { name: "notes__read", arguments: { text } });
    log.started?.(call);
    call.setRoute("notes", "read");
    call.settle({ result: {} });
    log.ended?.(call, ok);
  }
  expect(log.endedSince(0).filter(({ body }) => body !== undefined)).toHaveLength(120);
});

test("[TS-D-CALLS-3] deletes the oldest bodies when the total is too large, and the body of a call that is no longer kept", () => {
  let nowMs = 1_000_000;
  const log = openLog({ capturesBodies: true, maxCalls: 300, now: () => nowMs });
  const text = Array.from({ length: 8 }, () => "x".repeat(10_000));
  for (let id = 0; id < 70; id += 1) {
    const call = new TestCall(id, "editor", { name: "read", arguments: { text } });
    log.started?.(call);
    call.settle({ result: { content: text } });
    log.ended?.(call, ok);
  }
  const kept = log.endedSince(0).filter(({ body }) => body !== undefined);
  const size = kept.reduce(
    (sum, { body }) => sum + (body?.request.text.length ?? 0) + (body?.response?.text.length ?? 0),
    0,
  );
  expect(size).toBeLessThanOrEqual(8 * 1024 * 1024);
  expect(kept.length).toBeGreaterThan(40);
  expect(kept.at(-1)?.body?.request.isTruncated).toBe(true);
  run(log, 300);
  expect(log.capture.isOn()).toBe(true);
  nowMs += 15 * 60_000;
  expect(log.capture.isOn()).toBe(false);
  log.capture.set(24 * 3_600_000);
  expect(log.capture.untilMs()).toBe(nowMs + 3_600_000);
});

test("reports an exception of its own as a defect, and disturbs neither the call nor the process", () => {
  const defects: unknown[] = [];
  const log = openLog({ onDefect: (error) => void defects.push(error) });
  const broken = new Proxy({} as ConnectionInfo, {
    has() {
      throw new Error("of the phases");
    },
  });
  const call = new TestCall(1, "editor 1.0");
  log.started?.(call);
  call.phases?.begin("credential", broken);
  const operation = {
    get subject(): never {
      throw new Error("of the shared work");
    },
  };
  channels["credential:started"].publish(operation);
  expect(defects).toEqual([new Error("of the phases"), new Error("of the shared work")]);
});
