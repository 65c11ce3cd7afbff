import { availableParallelism } from "node:os";
import { defineConfig, mergeConfig } from "vitest/config";
import { base } from "./vitest.base.js";

/** Tests in `packages` that start programs, browsers or whole gateways, or that change or measure their process. */
const ownProcess = [
  "packages/*/src/**/{create-http-client,tracked-operations,session-bus,credential-spans,without-native}.test.ts",
  "packages/gateway/src/*.test.ts",
  "packages/quirks/**/*.test.ts",
  "packages/cli/src/{main,telemetry/*}.test.ts",
  "packages/*/src/**/{lifetime,drop-watch,allocations,life,example,copies,unchanged,counters}.test.ts",
  "packages/*/src/**/{keychain,vault-process,start-process,every-quirk,slow-callers,advisories,strays}.test.ts",
  "packages/*/src/**/{hostile-*,*-contract,*real-servers,*-processes,explain-*}.test.ts",
  "packages/*/src/**/processes/*.test.ts",
  "packages/*/src/**/{observe-transport,observe-undici,accounts,counter-slab,gauges,counting,id-index}.test.ts",
  "packages/*/src/**/{ordered-table,byte-writer,json-with-positions,env-file,quoted-text}.test.ts",
  "packages/*/src/**/{schema,run-bridge,process-end,propagation,full-disk}.test.ts",
];

const elsewhere = [
  "**/node_modules/**",
  // npm run test:long
  "**/*.long.test.ts",
  // npm run test:packages
  "test/packages/**",
  // npm run test:page
  "test/e2e/page-{calls,connections,journey,object,overview,target,tools}.test.ts",
  // npm run test:peers
  "test/peers/**",
];

export default mergeConfig(
  base,
  defineConfig({
    test: {
      // These use less of a processor than those with a browser.
      maxWorkers: Math.max(4, availableParallelism()),
      projects: [
        {
          extends: true,
          test: {
            // npm run test:fast runs only these. The files share a process: most of the time of small tests is the loading of modules.
            name: "units",
            isolate: false,
            include: ["packages/*/src/**/*.test.ts"],
            exclude: [...elsewhere, ...ownProcess],
          },
        },
        { extends: true, test: { name: "whole", include: [...ownProcess, "test/**/*.test.ts"], exclude: elsewhere } },
      ],
    },
  }),
);
