import { expect, test } from "vitest";
import { settingsFor } from "./server-settings.js";

test("[TS-D-EXT-12] a server has the settings of its groups in order, overridden by its own", () => {
  const settings = {
    "charts-one": { era: "auto" },
    "*": { era: "legacy" },
    "charts-*": { prefix: "never" },
    "*-two": { prefix: "always" },
  } as const;
  expect(settingsFor(settings, "charts-one")).toEqual({ prefix: "never", era: "auto" });
  expect(settingsFor(settings, "charts-two")).toEqual({ prefix: "always", era: "legacy" });
  expect(settingsFor(settings, "other")).toEqual({ era: "legacy" });
  expect(settingsFor({ "charts-*": { prefix: "never" } }, "other")).toBeUndefined();
});
