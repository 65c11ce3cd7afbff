import { defineConfig } from "vitest/config";
import everything from "./vitest.config.js";

// npm run test:packages: installs the packages as npm would publish them, on each supported version of Node, and runs the README's
// examples there. It downloads them and Node, so it is not part of npm test.
export default defineConfig({
  ...everything,
  test: {
    ...everything.test,
    include: ["test/packages/*.test.ts"],
    exclude: [],
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
