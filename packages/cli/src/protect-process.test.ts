import { expect, test } from "vitest";
import { hardenOnLinux } from "./protect-process.js";

test.each([
  ["is not installed", Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" })],
  ["cannot be loaded", new Error("Cannot find the native Koffi module")],
])("[TS-OAUTH-5] says why a process cannot be protected: koffi %s", (why, error) => {
  const problem = hardenOnLinux(() => {
    throw error;
  });
  expect(problem).toMatch(`because the optional package koffi ${why}. Install it for this platform`);
});

test("[TS-OAUTH-5] reports a kernel that refuses the protection", () => {
  const refusing = { load: () => ({ func: () => () => -1 }) };
  expect(hardenOnLinux(() => refusing)).toBe("The kernel refused to protect the memory of this process (prctl).");
});
