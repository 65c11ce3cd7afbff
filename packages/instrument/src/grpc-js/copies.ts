import Module, { createRequire } from "node:module";

// A process may hold several copies of grpc-js, each with its own classes: one for the application, others for its libraries.

const mainFilePattern = /[\\/]@grpc[\\/]grpc-js[\\/]build[\\/]src[\\/]index\.js$/;
const { cache } = createRequire(import.meta.url);

type Require = (this: NodeJS.Module, id: string) => unknown;
const modulePrototype = Module.prototype as unknown as { require: Require };

/** Called with each copy that is loaded. */
let onLoaded: ((mainFile: string) => void) | undefined;
let isWatching = false;

/** The main files of the copies that are loaded. */
export function loadedCopies(): string[] {
  return Object.keys(cache).filter((file) => mainFilePattern.test(file) && cache[file]?.loaded);
}

/** The main file of the copy that has these exports, or is found from this file. Throws a TypeError if it does not exist. */
export function findCopy(grpc: object | string): string {
  if (typeof grpc === "string" || grpc instanceof URL) {
    try {
      return createRequire(grpc).resolve("@grpc/grpc-js");
    } catch (cause) {
      throw new TypeError(`@grpc/grpc-js is not found from ${grpc}. Install it there, or pass the module itself.`, {
        cause,
      });
    }
  }
  // A namespace of ESM has what the CommonJS module exports as its default.
  const exports = (grpc as { readonly default?: object }).default ?? grpc;
  const found = Object.entries(cache).find(([, module]) => module?.exports === exports);
  if (found !== undefined && mainFilePattern.test(found[0])) return found[0];
  throw new TypeError(
    'This is not a loaded @grpc/grpc-js. Pass what `import * as grpc from "@grpc/grpc-js"` gives, or a file to find it from; ' +
      "a copy that was bundled into another file cannot be observed.",
  );
}

/**
 * Calls back for each copy that is loaded from now on, before it can be used. Replaces an earlier callback. Returns a function
 * that stops it.
 */
export function watchCopies(callback: (mainFile: string) => void): () => void {
  onLoaded = callback;
  if (!isWatching) {
    isWatching = true;
    const original = modulePrototype.require;
    modulePrototype.require = function (id) {
      const exports = original.call(this, id);
      // The main file requires this module last, when everything that is patched is loaded.
      if (id === "./channelz" && onLoaded !== undefined && mainFilePattern.test(this.filename)) onLoaded(this.filename);
      return exports;
    };
  }
  return () => {
    onLoaded = undefined;
  };
}
