import { expect, test } from "vitest";
import type { CallRow } from "../shell/store/index.js";
import { callsAt, filterCalls, holdList, valuesOf } from "./call-list.js";

const call = (id: string, changes: Partial<CallRow> = {}): CallRow => ({
  id,
  startMs: 1000,
  durationMs: 10,
  outcome: "ok",
  reason: "",
  client: "editor 1.0",
  session: "",
  server: "notes",
  method: "tools/call",
  name: "read",
  hasBody: false,
  ...changes,
});
const idsOf = (calls: readonly CallRow[]): string[] => calls.map(({ id }) => id);
const everything = { server: "", client: "", outcome: "", includesOwn: true };

test("filters calls by server, client and outcome, where failed means both kinds of failure", () => {
  const calls = [
    call("1", { outcome: "error", server: "" }),
    call("2", { outcome: "tool error" }),
    call("3", { client: "other 2.0" }),
    call("4", { server: "", method: "tools/list", name: "" }),
  ];
  expect(idsOf(filterCalls(calls, everything))).toEqual(["1", "2", "3", "4"]);
  expect(idsOf(filterCalls(calls, { ...everything, includesOwn: false }))).toEqual(["1", "2", "3"]);
  expect(idsOf(filterCalls(calls, { ...everything, outcome: "failed" }))).toEqual(["1", "2"]);
  expect(idsOf(filterCalls(calls, { ...everything, outcome: "ok", client: "other 2.0" }))).toEqual(["3"]);
  expect(idsOf(filterCalls(calls, { ...everything, server: "notes" }))).toEqual(["2", "3"]);
  expect(valuesOf(calls, "client")).toEqual(["editor 1.0", "other 2.0"]);
});

test("shows a call as running at a moment before its end, and not at all before its start", () => {
  const calls = [call("late", { startMs: 5000 }), call("long", { durationMs: 9000, reason: "x", outcome: "error" })];
  const [shown, ...others] = callsAt(calls, 4000);
  expect(others).toEqual([]);
  expect(shown).toMatchObject({ id: "long", outcome: "running", durationMs: undefined, reason: "" });
  expect(callsAt(calls, 20_000)).toEqual(calls);
});

test("holds the list at the newest shown call, and counts newer ones", () => {
  const calls = [call("3"), call("2"), call("1")];
  expect(holdList(calls, undefined)).toEqual({ shown: calls, newCount: 0 });
  expect(holdList(calls, "2")).toEqual({ shown: calls.slice(1), newCount: 1 });
  expect(holdList(calls, "not kept any more")).toEqual({ shown: calls, newCount: 0 });
});
