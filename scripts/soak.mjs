// npm run soak: runs 1,000 clients and 64 servers with an hour's churn in five minutes; -- --seconds 60 --clients 200 is shorter.

import { join } from "node:path";
import { command, root, run } from "./setup.mjs";

const main = join(root, "benchmarks", "dist", "soak", "main.js");

await command((args) => run(process.execPath, [main, ...args], { stdout: "inherit" }));
