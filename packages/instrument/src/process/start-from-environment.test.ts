import { expect, test } from "vitest";
import { collectWarnings } from "../warnings.test.helper.js";
import { startFromEnvironment } from "./start-from-environment.js";

test("does nothing if the variable is not set", async () => {
  const warnings = collectWarnings();
  expect(await startFromEnvironment({})).toBeUndefined();
  expect(await startFromEnvironment({ WIRESCOPE_LISTEN: "" })).toBeUndefined();
  expect(warnings).toEqual([]);
});

test.each([
  { WIRESCOPE_LISTEN: "nonsense" },
  { WIRESCOPE_LISTEN: "0.0.0.0:0" },
  { WIRESCOPE_LISTEN: "127.0.0.1:0", WIRESCOPE_CERT_FILE: "/nowhere/cert.pem" },
  { WIRESCOPE_LISTEN: "127.0.0.1:0", WIRESCOPE_CERT_FILE: "/nowhere/cert.pem", WIRESCOPE_KEY_FILE: "/nowhere/key.pem" },
])("emits a warning for an unusable setting (%o)", async (setting) => {
  const warnings = collectWarnings();
  expect(await startFromEnvironment(setting)).toBeUndefined();
  await expect.poll(() => warnings).toEqual([expect.stringMatching(/^This process is not observed\. \w/)]);
});
