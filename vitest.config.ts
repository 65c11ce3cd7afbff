import { defineConfig } from "vitest/config";

export default defineConfig({
  // Tests import the packages by their names and get the sources, so nothing has to be built first.
  resolve: { conditions: ["@wirescope/source"] },
  ssr: { resolve: { conditions: ["@wirescope/source"], externalConditions: ["@wirescope/source"] } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    // The tests of lifetime ask the garbage collector; nothing else in the project does.
    execArgv: ["--expose-gc"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
