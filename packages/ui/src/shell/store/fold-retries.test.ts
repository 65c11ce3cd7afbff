import type { TimelineChange } from "@wirescope/channelz/timeline";
import { expect, test } from "vitest";
import { foldRetries } from "./fold-retries.js";

const changeAt = (timeMs: number, text: string, kind: TimelineChange["kind"] = "state", id = 3): TimelineChange => {
  return { timeMs, kind, name: "notes", key: `|channel|${id}`, text };
};

test("folds the retries of what fails into one change with their number, until it is ready", () => {
  const folded = foldRetries([
    changeAt(1, "READY → TRANSIENT_FAILURE"),
    changeAt(2, "TRANSIENT_FAILURE → CONNECTING"),
    changeAt(3, "CONNECTING → TRANSIENT_FAILURE"),
    changeAt(3, "CONNECTING -> TRANSIENT_FAILURE: refused", "trace"),
    changeAt(4, "READY → TRANSIENT_FAILURE", "state", 4),
    changeAt(5, "CONNECTING -> TRANSIENT_FAILURE: refused", "trace"),
    changeAt(6, "CONNECTING → READY"),
    changeAt(7, "READY → TRANSIENT_FAILURE"),
  ]);
  expect(folded.map(({ change, retries, lastMs }) => [change.timeMs, retries, lastMs])).toEqual([
    [1, 2, 5],
    [4, 0, 4],
    [6, 0, 6],
    [7, 0, 7],
  ]);
});
