import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createNotices, type NoticedList } from "./notices.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function listen() {
  const heard: NoticedList[] = [];
  const notices = createNotices();
  notices.subscribe({ onListChanged: (list) => heard.push(list) });
  return { notices, heard };
}

test("a list that changes without end is told of now and then, its last change too, and another one at once", () => {
  const { notices, heard } = listen();
  for (let time = 0; time < 1000; time += 5) {
    notices.onListChanged("tools");
    vi.advanceTimersByTime(5);
  }
  expect(heard.length).toBeGreaterThanOrEqual(3);
  expect(heard.length).toBeLessThanOrEqual(5);
  heard.length = 0;
  notices.onListChanged("prompts");
  vi.advanceTimersByTime(25);
  expect(heard).toContain("prompts");
  vi.advanceTimersByTime(1000);
  expect(heard.filter((list) => list === "tools")).toHaveLength(1);
});

test("changes of one moment are one, and one after a while is told at once", () => {
  const { notices, heard } = listen();
  for (let times = 0; times < 3; times += 1) {
    notices.onListChanged("tools");
    notices.onListChanged("tools");
    vi.advanceTimersByTime(25);
    expect(heard).toHaveLength(times + 1);
    vi.advanceTimersByTime(1000);
  }
  expect(heard).toHaveLength(3);
});

test("changes of one resource in one moment are one, and others are told as well", () => {
  const notices = createNotices();
  const heard: string[] = [];
  notices.subscribe({ onResourceUpdated: (server, uri) => heard.push(`${server} ${uri}`) });
  for (let times = 0; times < 100; times += 1) {
    notices.onResourceUpdated("a", "x:1");
    notices.onResourceUpdated("b", "x:1");
  }
  vi.advanceTimersByTime(25);
  expect(heard).toEqual(["a x:1", "b x:1"]);
  notices.onResourceUpdated("a", "x:1");
  notices.close();
  vi.advanceTimersByTime(1000);
  expect(heard).toHaveLength(2);
});

test("a listener that throws is reported, and the others are notified", () => {
  const defects: unknown[] = [];
  const notices = createNotices((error) => void defects.push((error as Error).message));
  const levels: string[] = [];
  notices.subscribe({
    onLog() {
      throw new Error("unwritable");
    },
  });
  notices.subscribe({ onLog: (level) => void levels.push(level) });
  notices.onLog("info", {});
  notices.close();
  expect([defects, levels]).toEqual([["unwritable"], ["info"]]);
});
