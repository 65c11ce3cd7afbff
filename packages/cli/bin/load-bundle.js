const { existsSync, readFileSync, statSync } = require("node:fs");
const { createRequire } = require("node:module");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");
const { cachedDataVersionTag, setFlagsFromString } = require("node:v8");
const { Script } = require("node:vm");
const { openCompileCache } = require("./compile-cache.js");

/** V8's defaults for the flags that the command changes while it runs (src/v8-flags.ts). */
const defaults = ["--max-inlined-bytecode-size-cumulative=920", "--max-inlined-bytecode-size-small=27"];
/** The default of --wasm-tiering-budget: on Node 20, and on Node 22 and later. */
const defaultTieringBudgets = [1_800_000, 13_000_000];
const bundle = join(__dirname, "..", "bundle", "wirescope.cjs");

/**
 * Whether the bundle exists; in a checkout it is missing until the first build.
 *
 * @returns {boolean}
 */
function isBuilt() {
  return existsSync(bundle);
}

/**
 * Loads the command from its bundle. V8's compiled code is cached when the process exits, for the next one.
 *
 * @param {"gateway" | "command" | "test"} purpose What it is loaded for.
 * @returns {{ readonly exports: typeof import("../dist/index.js"), readonly script: Script }}
 */
function loadBundle(purpose) {
  // esbuild writes ASCII.
  const source = readFileSync(bundle, "latin1");
  const cache = openCompileCache(sourceIdOf(source), purpose);
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
 * Differs for each content of the bundle: the hash in its last line differs for each build, and the time of the last change of the file, which
 * no program can set, for a copy that somebody edited. Hashing 3 MB at each start would take 15 ms.
 *
 * @param {string} source
 * @returns {string | undefined} Undefined if there is no hash.
 */
function sourceIdOf(source) {
  const hash = /\n\/\/ ([0-9a-f]{64})\n$/.exec(source.slice(-69))?.[1];
  return hash && `${hash}-${statSync(bundle).ctimeMs}`;
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

module.exports = { isBuilt, loadBundle };
