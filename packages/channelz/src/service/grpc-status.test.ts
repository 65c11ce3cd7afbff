import { expect, test } from "vitest";
import { parseGrpcTimeoutMs, percentEncode } from "./grpc-status.js";

test.each([
  ["plain words", "plain words"],
  ["100 %", "100 %25"],
  ["zwölf\n", "zw%C3%B6lf%0A"],
  ["\ud800", "%EF%BF%BD"],
])("encodes the status message %j as %j", (text, encoded) => {
  expect(percentEncode(text)).toBe(encoded);
});

test.each([
  ["1H", 3_600_000],
  ["2M", 120_000],
  ["3S", 3000],
  ["20m", 20],
  ["5000u", 5],
  ["1000000n", 1],
  ["123456789S", undefined],
  ["-1S", undefined],
  ["soon", undefined],
  [undefined, undefined],
])("parses a grpc-timeout of %s as %s ms", (value, ms) => {
  expect(parseGrpcTimeoutMs(value)).toBe(ms);
});
