import { expect, test } from "vitest";
import { returnAddress } from "./sign-in-stream.js";

const origin = "http://127.0.0.1:4690";

test.each([
  ["/servers/notes?a=1", `${origin}/servers/notes?a=1`],
  ["//evil.example/", undefined],
  ["/\\evil.example/", undefined],
  ["https://evil.example/", undefined],
  ["javascript:alert(1)", undefined],
  ["", undefined],
  [`/${"x".repeat(600)}`, undefined],
])("[TS-D-SIGNIN-7] returns from a sign-in only to the calling page: %s", (path, address) => {
  expect(returnAddress(origin, path)).toBe(address);
  expect(returnAddress(null, path)).toBeUndefined();
});
