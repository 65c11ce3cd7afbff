import { setFlagsFromString } from "node:v8";

/** About 500 times the default. */
const budget = 1_000_000_000;

/**
 * Delays V8's optimisation of WebAssembly until it is really busy. The HTTP parser of undici is one huge function: by default
 * V8 optimises it after the first response, which costs 180 ms of CPU and 8 MB of resident memory, and does not pay off within
 * 20,000 responses.
 *
 * Call it once Node's own modules are loaded: what is loaded after a flag changed is compiled without Node's code cache.
 */
export function postponeWasmTierUp(): void {
  // The loader of the command keeps what V8 compiled for the next start, and V8 accepts it only under the same flags.
  (globalThis as { [saveHook]?: () => void })[saveHook]?.();
  setFlagsFromString(`--wasm-tiering-budget=${budget}`);
}

const saveHook: unique symbol = Symbol.for("wirescope.saveCompiledCode");
