import { mergeConfig } from "vitest/config";
import { base } from "./vitest.base.js";

// npm run test:peers: builds programs with the gRPC libraries of Debian for Go, C++ and Python, and reads their Channelz. It installs
// packages and compilers, so it is not part of npm test.
export default mergeConfig(base, {
  test: { include: ["test/peers/*.test.ts"], testTimeout: 120_000, hookTimeout: 900_000 },
});
