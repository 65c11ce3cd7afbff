import Module, { createRequire } from "node:module";

// A process may load several copies of grpc-js, each with its own classes: one for the application, others for its libraries.

const mainFilePattern = /[\\/]@grpc[\\/]grpc-js[\\/]build[\\/]src[\\/]index\.js$/;
const { cache } = createRequire(import.meta.url);

type Require = (this: NodeJS.Module, id: string) => unknown;
const modulePrototype = Module.prototype as unknown as { require: Require };

/** Called with each copy that is loaded. */
let onLoaded: ((mainFile: string) => void) | undefined;
let isWatching = false;

export function loadedCopies(): string[] {
  return Object.keys(cache).filter((file) => mainFilePattern.test(file) && cache[file]?.loaded);
}

/** The main file of the copy with these exports, or of the one that this file resolves. Throws a TypeError if there is none. */
export function findCopy(grpc: object | string): string {
  if (typeof grpc === "string" || grpc instanceof URL) {
    try {
      return createRequire(grpc).resolve("@grpc/grpc-js");
    } catch (cause) {
      throw new TypeError(`Cannot find @grpc/grpc-js from ${grpc}. Install it there, or pass the module itself.`, {
        cause,
      });
    }
  }
  // The default export of an ESM namespace is what the CommonJS module exports.
  const exports = (grpc as { readonly default?: object }).default ?? grpc;
  const found = Object.entries(cache).find(([, module]) => module?.exports === exports);
  if (found !== undefined && mainFilePattern.test(found[0])) return found[0];
  throw new TypeError(
    'This is not a loaded @grpc/grpc-js. Pass the namespace of `import * as grpc from "@grpc/grpc-js"`, or a file that can ' +
      "resolve it. A bundled copy cannot be observed.",
  );
}

/**
 * Calls back for each copy that is loaded from now on, before it can be used. Replaces an earlier callback. Returns an unsubscribe
 * function.
 */
export function watchCopies(callback: (mainFile: string) => void): () => void {
  onLoaded = callback;
  if (!isWatching) {
    isWatching = true;
    const original = modulePrototype.require;
    modulePrototype.require = function (id) {
      const exports = original.call(this, id);
      // The main file requires this module last, after everything that is patched.
      if (id === "./channelz" && onLoaded !== undefined && mainFilePattern.test(this.filename)) onLoaded(this.filename);
      return exports;
    };
  }
  return () => {
    onLoaded = undefined;
  };
}
