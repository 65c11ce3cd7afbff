import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  // Tests import the packages by their names and get the sources, so nothing has to be built first.
  resolve: { conditions: ["@wirescope/source"] },
  ssr: { resolve: { conditions: ["@wirescope/source"], externalConditions: ["@wirescope/source"] } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"],
    // Tests of the command run it as it is published.
    globalSetup: "./scripts/bundle.mjs",
    pool: "forks",
    // Most tests wait for other processes: also on two cores, two at a time end sooner.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // The tests of lifetime ask the garbage collector; nothing else in the project does.
    execArgv: ["--expose-gc"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is waited for comes when it comes; on a busy machine a second is nothing.
    expect: { poll: { timeout: 20_000 } },
  },
});
