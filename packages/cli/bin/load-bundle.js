import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { cachedDataVersionTag, setFlagsFromString } from "node:v8";
import { Script } from "node:vm";
import { openCompileCache } from "./compile-cache.js";

/** V8's defaults for the flags that the command changes while it runs (src/v8-flags.ts). */
const defaults = ["--max-inlined-bytecode-size-cumulative=920", "--max-inlined-bytecode-size-small=27"];
/** The default of --wasm-tiering-budget: on Node 20, and on Node 22 and later. */
const defaultTieringBudgets = [1_800_000, 13_000_000];
const bundle = fileURLToPath(new URL("../bundle/wirescope.cjs", import.meta.url));

/**
 * Whether the bundle exists; in a checkout it is missing until the first build.
 *
 * @returns {boolean}
 */
export function isBuilt() {
  return existsSync(bundle);
}

/**
 * Loads the command from its bundle. V8's compiled code is cached when the process exits, for the next one.
 *
 * @param {"gateway" | "command"} purpose What it is loaded for.
 * @returns {{ readonly exports: typeof import("../dist/index.js"), readonly script: Script }}
 */
export function loadBundle(purpose) {
  const source = readFileSync(bundle, "utf8");
  const cache = openCompileCache(source, purpose);
  const cachedData = cache.read();
  const script = new Script(source, { filename: bundle, cachedData });
  if (cachedData === undefined || script.cachedDataRejected) {
    const tag = cachedDataVersionTag();
    // At exit, because by then V8 has compiled what this purpose needs.
    process.once("exit", () => {
      if (restoreFlags(tag)) cache.write(script.createCachedData());
    });
  }
  const module = { exports: {} };
  /** @param {string} file */
  const importModule = (file) => import(new URL(file, pathToFileURL(bundle)).href);
  script.runInThisContext()(module.exports, createRequire(bundle), module, bundle, importModule);
  return { exports: module.exports, script };
}

/**
 * Sets the V8 flags that the command changes back to their defaults: V8 accepts cached code only with the flags it was saved with.
 *
 * @param {number} tag The version tag at startup, which depends on the flags.
 * @returns {boolean} Whether the tag is the same again.
 */
function restoreFlags(tag) {
  if (cachedDataVersionTag() === tag) return true;
  for (const flag of defaults) setFlagsFromString(flag);
  return defaultTieringBudgets.some((budget) => {
    setFlagsFromString(`--wasm-tiering-budget=${budget}`);
    return cachedDataVersionTag() === tag;
  });
}
