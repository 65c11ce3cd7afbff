import { mergeConfig } from "vitest/config";
import everything from "./vitest.config.js";

// npm run test:fast: the tests of single parts, for the inner loop. What is left out starts programs, browsers or whole
// gateways, waits for the garbage collector, or searches for a counterexample for long; npm test runs all of it.
export default mergeConfig(everything, {
  test: {
    // Files share a process: most of the time of small tests is the loading of modules.
    isolate: false,
    exclude: [
      "test/**",
      // These need a process of their own.
      "**/{create-http-client,tracked-operations,session-bus,watch-credentials,without-native}.test.ts",
      "packages/gateway/src/*.test.ts",
      "packages/quirks/**",
      "packages/cli/src/{main,telemetry/*}.test.ts",
      "**/{leak,lifetime,soak,drop-watch,allocations,life,flood,example,copies,unchanged,counters}.test.ts",
      "**/{keychain,vault-process,start-process,every-quirk,slow-callers,advisories,strays}.test.ts",
      "**/{hostile-*,*-contract,*real-servers,*-processes,explain-*}.test.ts",
      "**/processes/*.test.ts",
      "**/{observe-transport,observe-undici,accounts,credential-counts,counter-slab,counting,id-index,ordered-table,byte-writer,json-with-positions,sendable-request}.test.ts",
      "**/{parse-env-file,quoted-text,schema,run-bridge,process-end,passing-on,full-disk}.test.ts",
    ],
  },
});
