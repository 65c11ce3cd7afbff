import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type Call, CallSchema, PhaseKind } from "@wirescope/gateway/admin";
import { expect, test } from "vitest";
import { chartOf } from "./phase-bars.js";

type Given = readonly [kind: PhaseKind, startMs: number, lengthMs: number | undefined, depth?: number];

const callOf = (lengthMs: number | undefined, phases: readonly Given[]): Call =>
  create(CallSchema, {
    ...(lengthMs === undefined ? {} : { duration: durationFromMs(lengthMs) }),
    phases: phases.map(([kind, startMs, phaseMs, depth = 0]) => ({
      kind,
      depth,
      start: durationFromMs(startMs),
      ...(phaseMs === undefined ? {} : { duration: durationFromMs(phaseMs) }),
    })),
  });

test("places each phase as a share of the call", () => {
  const call = callOf(100, [
    [PhaseKind.CONNECTING, 0, 50],
    [PhaseKind.TLS, 10, 20, 1],
    [PhaseKind.RETRY, 50, 0],
    [PhaseKind.SERVER, 50, 50],
  ]);
  const { totalMs, bars } = chartOf(call, 0);
  expect(totalMs).toBe(100);
  expect(bars.map(({ left, width, depth }) => [left, width, depth])).toEqual([
    [0, 0.5, 0],
    [0.1, 0.2, 1],
    [0.5, 0, 0],
    [0.5, 0.5, 0],
  ]);
});

test("extends a phase that has not ended to the present", () => {
  const { totalMs, bars } = chartOf(callOf(undefined, [[PhaseKind.SERVER, 250, undefined]]), 1000);
  expect(totalMs).toBe(1000);
  expect(bars[0]).toMatchObject({ left: 0.25, width: 0.75, lengthMs: undefined });
});

test("keeps bars within the chart if a phase outlasts the call, or the call took no time", () => {
  const { totalMs, bars } = chartOf(callOf(10, [[PhaseKind.SERVER, 5, 15]]), 0);
  expect([totalMs, bars[0]?.left, bars[0]?.width]).toEqual([20, 0.25, 0.75]);
  expect(chartOf(callOf(0, [[PhaseKind.REQUEST, 0, 0]]), 0).bars[0]).toMatchObject({ left: 0, width: 0 });
});
