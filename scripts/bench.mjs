// npm run bench: the measurements, with the garbage collector exposed for those of memory.

import { join } from "node:path";
import { command, root, run } from "./setup.mjs";

const main = join(root, "benchmarks", "dist", "main.js");

await command((args) => run(process.execPath, ["--expose-gc", main, ...args], { stdout: "inherit" }));
