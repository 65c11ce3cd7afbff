import { mergeConfig } from "vitest/config";
import { base } from "./vitest.base.js";

// npm run mutation: the tests of one folder, which Stryker names, in its worker threads.
const { test, ...rest } = mergeConfig(base, {
  test: {
    // What measures memory does not hold among worker threads.
    exclude: ["**/{allocations,drop-watch}.test.ts", "**/*.long.test.ts"],
    setupFiles: ["./scripts/mutation-setup.mjs"],
    isolate: false,
    testTimeout: 30_000,
    expect: { poll: { timeout: 10_000 } },
  },
});

// These are replaced, and not added to.
export default { ...rest, test: { ...test, include: ["**/*.test.ts"], globalSetup: [], execArgv: [] } };
