import { mergeConfig } from "vitest/config";
import { base } from "./vitest.base.js";

// npm run test:packages: installs a fresh clone, and the packages as npm would publish them, on each supported version of Node, and runs the
// README's examples there. It downloads them and Node, so it is not part of npm test.
export default mergeConfig(base, {
  test: { include: ["test/packages/*.test.ts"], testTimeout: 600_000, hookTimeout: 600_000 },
});
