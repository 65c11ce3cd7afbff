import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ChangingList, createEvents, type GatewayEvent } from "./events.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function observeLists() {
  const received: ChangingList[] = [];
  const events = createEvents();
  events.subscribe({ "list-changed": ({ list }) => received.push(list) });
  return { received, change: (list: ChangingList) => events.emit({ kind: "list-changed", list }) };
}

test("reports a list that changes constantly a few times per second, including its last change, and does not delay another list", () => {
  const { received, change } = observeLists();
  for (let time = 0; time < 1000; time += 5) {
    change("tools");
    vi.advanceTimersByTime(5);
  }
  expect(received.length).toBeGreaterThanOrEqual(3);
  expect(received.length).toBeLessThanOrEqual(5);
  received.length = 0;
  change("prompts");
  vi.advanceTimersByTime(25);
  expect(received).toContain("prompts");
  vi.advanceTimersByTime(1000);
  expect(received.filter((list) => list === "tools")).toHaveLength(1);
});

test("coalesces simultaneous changes of a list, and reports a later change without delay", () => {
  const { received, change } = observeLists();
  for (let times = 0; times < 3; times += 1) {
    change("tools");
    change("tools");
    vi.advanceTimersByTime(25);
    expect(received).toHaveLength(times + 1);
    vi.advanceTimersByTime(1000);
  }
  expect(received).toHaveLength(3);
});

test("coalesces simultaneous updates of a resource, and drops delayed events when it is closed", () => {
  const events = createEvents();
  const received: string[] = [];
  events.subscribe({ "resource-updated": ({ server, uri }) => received.push(`${server} ${uri}`) });
  for (let times = 0; times < 100; times += 1) {
    events.emit({ kind: "resource-updated", server: "a", uri: "x:1" });
    events.emit({ kind: "resource-updated", server: "b", uri: "x:1" });
  }
  vi.advanceTimersByTime(25);
  expect(received).toEqual(["a x:1", "b x:1"]);
  events.emit({ kind: "resource-updated", server: "a", uri: "x:1" });
  events.close();
  vi.advanceTimersByTime(1000);
  expect(received).toHaveLength(2);
});

test("reports an error that a handler throws as a defect, redacted, and still calls the other handlers", () => {
  const log: GatewayEvent[] = [];
  const events = createEvents({
    onEvent(event) {
      log.push(event);
      throw new Error("The log is full.");
    },
    redact: (text) => text.replaceAll("s3cret", "[redacted]"),
  });
  const ids: string[] = [];
  events.subscribe({
    "task-updated"() {
      throw new Error("unwritable s3cret");
    },
  });
  events.subscribe({ "task-updated": ({ id }) => void ids.push(id) });
  events.emit({ kind: "task-updated", id: "one", params: {} });
  expect(ids).toEqual(["one"]);
  expect(log).toEqual([{ kind: "defect", reason: expect.stringContaining("unwritable [redacted]") }]);
});

test("passes only log events to onEvent, and stops calling a handler that has unsubscribed", () => {
  const kinds: string[] = [];
  const events = createEvents({ onEvent: ({ kind }) => void kinds.push(kind) });
  const unsubscribe = events.subscribe({ reloaded: () => kinds.push("handled") });
  const reloaded = { kind: "reloaded", added: [], removed: [], changed: [] } as const;
  events.emit(reloaded);
  unsubscribe();
  events.emit({ kind: "task-updated", id: "one", params: {} });
  events.emit(reloaded);
  expect(kinds).toEqual(["reloaded", "handled", "reloaded"]);
  expect([events.hasSubscribers("call"), events.hasSubscribers("task-updated")]).toEqual([true, false]);
});
