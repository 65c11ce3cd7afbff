import { describe, expect, test } from "vitest";
import { becameFailing, becameReady, keepaliveFailureIn, reasonIn, reasonKindOf, repetitionsOf } from "./trace-text.js";

describe("the text of a trace event", () => {
  test.each([
    "CONNECTING -> READY",
    "Subchannel Connectivity change to READY",
    "Connectivity state change to READY (repeated 3 times)",
  ])("reads %j as a connection", (description) => {
    expect(becameReady(description)).toBe(true);
    expect(becameFailing(description)).toBe(false);
  });

  test("does not take a host for a state", () => {
    expect(becameReady("cannot connect to ready.example: ECONNREFUSED")).toBe(false);
  });

  test.each([
    ["READY -> TRANSIENT_FAILURE (unexpected): reset (repeated 1234567 times)", "reset", 1_234_567],
    ["Connectivity state change to TRANSIENT_FAILURE, last error: refused", "refused", 1],
    ["CONNECTING -> TRANSIENT_FAILURE", undefined, 1],
    ["Name resolved", undefined, 1],
    ["connection lost (repeated 2 times)", "connection lost", 2],
  ])("finds in %j the reason %j, %i times", (description, reason, times) => {
    expect(reasonIn(description, false)).toBe(reason);
    expect(repetitionsOf(description)).toBe(times);
  });

  test("takes any text of a warning for a reason, and keeps 500 characters", () => {
    expect(reasonIn("odd", true)).toBe("odd");
    expect(reasonIn("x".repeat(9999), true)).toHaveLength(500);
  });

  test("searches only the first 4,096 characters of a description", () => {
    expect(becameReady(`${" ".repeat(4096)}-> READY`)).toBe(false);
  });

  test.each([
    ["connect ECONNREFUSED 127.0.0.1:1", "refused"],
    ["connect EACCES /run/a.sock", "permission"],
    ["401 Unauthorized", "unauthenticated"],
    ["403 Forbidden", "forbidden"],
    ["TLS handshake: timed out", "tls"],
    ["no such host", "name"],
    ["i/o timeout", "network"],
    ["502 Bad Gateway", "http-status"],
    ["something else", undefined],
  ])("reads %j as a reason about %j", (reason, kind) => {
    expect(reasonKindOf(reason)).toBe(kind);
  });

  test.each([
    ["GOAWAY: ENHANCE_YOUR_CALM, too_many_pings", "too-many"],
    ["keepalive watchdog timeout: not acknowledged", "silent"],
    ["ping timeout", "silent"],
    ["keepalive is set to 10 s", undefined],
  ])("reads %j as a failure of keepalives: %j", (description, failure) => {
    expect(keepaliveFailureIn(description)).toBe(failure);
  });
});
