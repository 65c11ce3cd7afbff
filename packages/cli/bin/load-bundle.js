import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { constants, Script } from "node:vm";

const bundle = fileURLToPath(new URL("../bundle/wirescope.cjs", import.meta.url));

/**
 * Loads the command from its one file. What V8 made of that the last time lies beside it, and takes the place of compiling it
 * anew; V8 itself sees whether it fits, and where it does not, as for another version of Node, does without.
 *
 * @param {string} [file] Default: where it belongs.
 * @returns {{ readonly exports: typeof import("../dist/index.js"), readonly script: Script }}
 */
export function loadBundle(file = bundle) {
  const script = new Script(readFileSync(file, "utf8"), {
    filename: file,
    cachedData: readCache(`${file}.cache`),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(file), module, file);
  return { exports: module.exports, script };
}

function readCache(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
