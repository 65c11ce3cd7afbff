import { mergeConfig } from "vitest/config";
import { base } from "./vitest.base.js";

// npm run test:page: every view of the page in Chromium. npm test runs only page-smoke.
export default mergeConfig(base, { test: { include: ["test/e2e/page-*.test.ts"] } });
