import type { TimelineChange } from "@wirescope/channelz/timeline";
import { expect, test } from "vitest";
import { changesNear, neighbourChange, tickPath } from "./time-ticks.js";

const changeAt = (timeMs: number, kind: TimelineChange["kind"], text = ""): TimelineChange => {
  return { timeMs, kind, name: "", key: "|channel|1", text };
};

test("draws a line for each moment when a state changed, and marks those when something started to fail", () => {
  const all = [
    changeAt(0, "state", "IDLE → CONNECTING"),
    changeAt(500, "state", "CONNECTING → TRANSIENT_FAILURE"),
    changeAt(1000, "state", "TRANSIENT_FAILURE → READY"),
    changeAt(250, "trace", "not drawn"),
    changeAt(100, "appeared", "socket 3"),
    changeAt(750, "trace", "CONNECTING -> TRANSIENT_FAILURE: refused"),
    changeAt(5000, "state", "outside"),
  ];
  expect(tickPath(all, { firstMs: 0, lastMs: 1000 })).toEqual({
    minor: "M100 6V10",
    major: "M0 2V10M1000 2V10",
    failing: "M500 0V10M750 0V10",
  });
});

test("draws one line for many changes in the same column", () => {
  const all = Array.from({ length: 50 }, (_, index) => changeAt(index / 100, "state"));
  expect(tickPath(all, { firstMs: 0, lastMs: 1_000_000 }).major).toBe("M0 2V10");
});

test("finds the change before and after a moment", () => {
  const all = [changeAt(100, "state"), changeAt(200, "trace"), changeAt(300, "state")];
  expect([neighbourChange(all, 300, -1), neighbourChange(all, 100, 1), neighbourChange(all, 300, 1)]).toEqual([
    100,
    300,
    undefined,
  ]);
});

test("lists the changes near a moment, the most severe first", () => {
  const all = [
    changeAt(1000, "appeared", "socket 3"),
    changeAt(1100, "state", "READY → TRANSIENT_FAILURE"),
    changeAt(9000, "state", "far away"),
  ];
  const near = changesNear(all, { firstMs: 0, lastMs: 10_000 }, 1000);
  expect(near.map(({ text }) => text)).toEqual(["READY → TRANSIENT_FAILURE", "socket 3"]);
});
