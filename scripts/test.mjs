// npm test runs all tests; npm test -- packages/channelz runs a part. The arguments are passed to vitest.

import { join } from "node:path";
import { command, root, run } from "./setup.mjs";

const vitest = join(root, "node_modules", "vitest", "vitest.mjs");

await command((args) => run(process.execPath, [vitest, "run", ...args], { stdout: "inherit" }));
