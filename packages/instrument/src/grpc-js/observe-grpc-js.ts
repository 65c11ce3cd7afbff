import type { Registry } from "@wirescope/channelz";
import { SharedObservation } from "../observation.js";
import { findCopy, loadedCopies, watchCopies } from "./copies.js";
import { openCopy } from "./copy.js";
import { Observer } from "./observer.js";
import { captureServer, patchCopy } from "./patch-copy.js";

/** An observation of grpc-js. */
export interface GrpcJsObservation {
  /** Removes everything observed from the registry, with the reason. The remaining overhead is a check per patched method. */
  stop(reason?: string): void;
}

const allCopies = new SharedObservation("All copies of @grpc/grpc-js are");

/**
 * Shows the channels, subchannels, servers and connections of @grpc/grpc-js in the registry, regardless of their
 * `grpc.enable_channelz` option.
 *
 * Without `grpc`, observes every copy that this process has loaded or will load, with a warning for a copy that cannot be
 * observed. With `grpc`, observes one copy: the module itself, or the one that a file resolves. Throws a TypeError if that copy is
 * not found or is older than 1.12.6.
 *
 * Existing servers and shared subchannels appear at once, channels at their next call or state change. Counting starts now. A
 * second call with the same registry shares the observation, until the last has stopped. Throws a TypeError if the copy is
 * observed in another registry.
 */
export function observeGrpcJs(registry: Registry, grpc?: object | string): GrpcJsObservation {
  const stop =
    grpc === undefined
      ? allCopies.join(registry, () => observeCopies(registry))
      : observeCopy(registry, findCopy(grpc));
  return { stop: (reason = "no longer observed") => stop(reason) };
}

function observeCopies(registry: Registry): (reason: string) => void {
  const stops = new Map<string, (reason: string) => void>();
  const observe = (mainFile: string): void => {
    if (!stops.has(mainFile)) warnInstead(() => stops.set(mainFile, observeCopy(registry, mainFile)));
  };
  const stopWatching = watchCopies(observe);
  for (const mainFile of loadedCopies()) observe(mainFile);
  return (reason) => {
    stopWatching();
    for (const stop of stops.values()) stop(reason);
  };
}

function observeCopy(registry: Registry, mainFile: string): (reason: string) => void {
  const copy = openCopy(mainFile, patchCopy);
  return copy.observation.join(registry, () => {
    const observer = new Observer(registry);
    copy.observer = observer;
    observer.guard(() => observer.addExisting(copy.internals, captureServer));
    return (reason) => {
      copy.observer = undefined;
      observer.stop(reason);
    };
  });
}

/** Warns instead of throwing, because a library of the application may load an unknown copy. */
function warnInstead(work: () => void): void {
  try {
    work();
  } catch (error) {
    process.emitWarning(String(error), { type: "ChannelzWarning", code: "GRPC_JS_NOT_OBSERVED" });
  }
}
