import { SharedObservation } from "../observation.js";
import { type Internals, loadInternals } from "./internals.js";
import type { Observer } from "./observer.js";

/** One copy of grpc-js and its observer. Patches do nothing while there is no observer. */
export interface Copy {
  readonly internals: Internals;
  readonly observation: SharedObservation;
  observer: Observer | undefined;
}

const copies = new Map<string, Copy>();

/** The copy with this main file, which is patched on the first call. */
export function openCopy(mainFile: string, patch: (copy: Copy) => void): Copy {
  const known = copies.get(mainFile);
  if (known !== undefined) return known;
  const copy: Copy = {
    internals: loadInternals(mainFile),
    observation: new SharedObservation(`@grpc/grpc-js at ${mainFile} is`),
    observer: undefined,
  };
  copies.set(mainFile, copy);
  patch(copy);
  return copy;
}
