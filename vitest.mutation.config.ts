import { defineConfig } from "vitest/config";

// npm run mutation: the tests of one folder, which Stryker names, in its worker threads.
export default defineConfig({
  resolve: { conditions: ["@wirescope/source"] },
  ssr: { resolve: { conditions: ["@wirescope/source"], externalConditions: ["@wirescope/source"] } },
  test: {
    include: ["**/*.test.ts"],
    // What measures memory does not hold among worker threads.
    exclude: ["**/{allocations,drop-watch}.process.test.ts", "**/*.long.test.ts"],
    setupFiles: ["./scripts/mutation-setup.mjs"],
    isolate: false,
    testTimeout: 30_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
