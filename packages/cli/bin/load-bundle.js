import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { constants, Script } from "node:vm";
import { openCompileCache } from "./compile-cache.js";

const saveHook = Symbol.for("wirescope.saveCompiledCode");
const bundle = fileURLToPath(new URL("../bundle/wirescope.cjs", import.meta.url));

/**
 * Loads the command from its one file. What V8 compiled is kept when the process exits, and used by the next one.
 *
 * @param {"gateway" | "command"} purpose What it is loaded for.
 * @returns {{ readonly exports: typeof import("../dist/index.js"), readonly script: Script }}
 */
export function loadBundle(purpose) {
  const source = readFileSync(bundle, "utf8");
  const cache = openCompileCache(source, purpose);
  const cachedData = cache.read();
  const script = new Script(source, {
    filename: bundle,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  if (cachedData === undefined || script.cachedDataRejected) {
    const save = () => {
      if (globalThis[saveHook] === undefined) return;
      globalThis[saveHook] = undefined;
      cache.write(script.createCachedData());
    };
    // At the end, because by then V8 has compiled what this purpose needs. The command saves it earlier if it changes a flag
    // of V8, which rejects what was compiled under other flags.
    globalThis[saveHook] = save;
    process.once("exit", save);
  }
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(bundle), module, bundle);
  return { exports: module.exports, script };
}
