import { describe, expect, test } from "vitest";
import { createTraceFieldReader } from "./trace-fields.js";

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const other = "00-11111111111111111111111111111111-2222222222222222-00";
const { read } = createTraceFieldReader(["tracecontext"]);
const both = createTraceFieldReader(["tracecontext", "baggage"]);

describe("the trace fields of a request", () => {
  test("returns undefined if the request has no trace fields", () => {
    expect(read({}, undefined)).toBeUndefined();
    expect(read({ _meta: { progressToken: 1 } }, { accept: "*/*" })).toBeUndefined();
  });

  test("prefers _meta to the headers", () => {
    const headers = { traceparent: other, tracestate: "b=2" };
    expect(read({ _meta: { traceparent: parent } }, headers)).toEqual({ traceparent: parent });
    expect(read({}, headers)).toEqual({ traceparent: other, tracestate: "b=2" });
    expect(read({ _meta: { traceparent: "nonsense" } }, headers)).toEqual({ traceparent: other, tracestate: "b=2" });
  });

  test.each([
    ["no text", 7],
    ["too short", parent.slice(0, -1)],
    ["a trace of zeros", parent.replace(/-[0-9a-f]{32}/, `-${"0".repeat(32)}`)],
    ["a parent of zeros", parent.replace(/-[0-9a-f]{16}-/, `-${"0".repeat(16)}-`)],
    ["upper case", parent.toUpperCase()],
    ["a version that is none", parent.replace("00-", "ff-")],
    ["more than version 00 has", `${parent}-more`],
    ["another line", `${parent}\r\nx-evil: 1`],
  ])("returns undefined if the parent is %s", (_, traceparent) => {
    expect(read({ _meta: { traceparent, tracestate: "a=1" } }, undefined)).toBeUndefined();
  });

  test("drops the fields of a newer version", () => {
    expect(read({ _meta: { traceparent: `${parent.replace("00-", "01-")}-what-is-to-come` } }, undefined)).toEqual({
      traceparent: parent,
    });
  });

  test("drops a state that a header cannot contain", () => {
    expect(read({ _meta: { traceparent: parent, tracestate: "a=\n1" } }, undefined)).toEqual({ traceparent: parent });
    expect(read({ _meta: { traceparent: parent, tracestate: `a=${"1".repeat(600)}` } }, undefined)).toEqual({
      traceparent: parent,
    });
  });

  test("returns baggage only if it is enabled", () => {
    const params = { _meta: { traceparent: parent, baggage: "user=alice" } };
    expect(read(params, undefined)).toEqual({ traceparent: parent });
    expect(both.read(params, undefined)).toEqual({ traceparent: parent, baggage: "user=alice" });
    expect(both.read({}, { baggage: "user=bob" })).toEqual({ baggage: "user=bob" });
    expect(both.read(params, { baggage: "user=bob" })?.baggage).toBe("user=alice");
  });

  test("returns undefined if propagation is disabled", () => {
    expect(createTraceFieldReader([]).read({ _meta: { traceparent: parent } }, undefined)).toBeUndefined();
  });
});
