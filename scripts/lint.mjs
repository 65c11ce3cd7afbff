// npm run lint: runs all checks of the sources at the same time, after their types were checked. With --fix, Biome fixes what it can.

import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { root } from "./up-to-date.mjs";

const inModules = (...path) => join(root, "node_modules", ...path);
const script = (name) => () => runQuietly(process.execPath, [join(root, "scripts", name)]);

const checks = {
  "format and lint rules": (args) =>
    runQuietly(process.execPath, [
      inModules("@biomejs", "biome", "bin", "biome"),
      "check",
      ...(args.includes("--fix") ? ["--write"] : []),
      ".",
    ]),
  "unused code": () => runQuietly(process.execPath, [inModules("knip", "bin", "knip.js"), "--cache"]),
  schemas: () => runQuietly(process.execPath, [inModules("@bufbuild", "buf", "bin", "buf"), "lint"]),
  imports: script("check-imports.mjs"),
  language: script("check-language.mjs"),
  prose: script("check-prose.mjs"),
};

/** Runs the checks, and prints the output of those that fail. */
export async function main(args) {
  const waiting = Object.entries(checks);
  let failed = 0;
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [name, check] = next;
      const { code, output } = await check(args);
      if (code === 0) continue;
      failed += 1;
      console.error(`== ${name}\n${output.trimEnd()}\n`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  console.error(failed === 0 ? "No problems found." : `${failed} of ${Object.keys(checks).length} checks failed.`);
  return failed === 0 ? 0 : 1;
}

function runQuietly(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
