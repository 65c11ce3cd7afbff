import { setFlagsFromString } from "node:v8";

/**
 * Lets V8 wait until WebAssembly is really busy before it optimises it. The HTTP parser of undici is one huge function: by
 * default V8 sets about it after the first response, which takes 100 ms of a processor, 35 MB for a moment and 10 MB for
 * good, and 20,000 responses later has still not paid off.
 *
 * To be called once the modules of Node are loaded: those that are loaded after a flag was changed are compiled anew.
 */
export function postponeWasmTierUp(): void {
  setFlagsFromString(`--wasm-tiering-budget=${budget}`);
}

/** About 500 times the default. */
const budget = 1_000_000_000;
