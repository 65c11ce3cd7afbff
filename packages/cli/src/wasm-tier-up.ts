import { setFlagsFromString } from "node:v8";

/** About 500 times the default. */
const budget = 1_000_000_000;

/**
 * Delays V8's optimisation of WebAssembly until it is really busy. The HTTP parser of undici is one huge function: by default
 * V8 optimises it after the first response, which costs 180 ms of CPU and 8 MB of resident memory, and does not pay off within
 * 20,000 responses.
 *
 * Call it once Node's own modules are loaded: what is loaded after a flag changed is compiled without Node's code cache.
 * bin/load-bundle.js sets the flag back before it saves what V8 compiled.
 */
export function postponeWasmTierUp(): void {
  setFlagsFromString(`--wasm-tiering-budget=${budget}`);
}
