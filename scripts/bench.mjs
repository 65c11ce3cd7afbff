// npm run bench: runs the benchmarks, with the garbage collector exposed for memory measurements.

import { join } from "node:path";
import { command, root, run } from "./setup.mjs";

const main = join(root, "benchmarks", "dist", "main.js");

await command((args) => run(process.execPath, ["--expose-gc", main, ...args], { stdout: "inherit" }));
