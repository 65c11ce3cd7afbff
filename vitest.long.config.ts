import { mergeConfig } from "vitest/config";
import { base } from "./vitest.base.js";

// npm run test:long: loops of faults, kills and floods, and hundreds of objects that must be collected.
export default mergeConfig(base, {
  test: { include: ["packages/*/src/**/*.long.test.ts", "test/**/*.long.test.ts"] },
});
