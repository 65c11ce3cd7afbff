// npm test: everything; npm test -- packages/channelz: a part. What follows the command goes to vitest.

import { join } from "node:path";
import { command, root, run } from "./setup.mjs";

const vitest = join(root, "node_modules", "vitest", "vitest.mjs");

await command((args) => run(process.execPath, [vitest, "run", ...args], { stdout: "inherit" }));
