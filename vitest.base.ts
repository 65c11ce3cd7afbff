import { availableParallelism } from "node:os";
import { defineConfig, type ViteUserConfig } from "vitest/config";

// What the configurations of all test commands share.
export const base: ViteUserConfig = defineConfig({
  // Tests import the packages by their names and get the sources, so nothing has to be built first.
  resolve: { conditions: ["@wirescope/source"] },
  ssr: { resolve: { conditions: ["@wirescope/source"], externalConditions: ["@wirescope/source"] } },
  test: {
    // Tests of the command run it as it is published.
    globalSetup: "./scripts/bundle.mjs",
    pool: "forks",
    // Most tests wait for other processes: on two cores, three at a time end sooner.
    maxWorkers: Math.max(3, availableParallelism()),
    // The tests of lifetime ask the garbage collector; nothing else in the project does.
    execArgv: ["--expose-gc"],
    // Only a hang reaches these: tests wait for conditions, and a busy machine is ten times slower than an idle one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
