import type { Registry } from "@wirescope/channelz";
import { SharedObservation } from "../observation.js";
import { findCopy, loadedCopies, watchCopies } from "./copies.js";
import { openCopy } from "./copy.js";
import { Observer } from "./observer.js";
import { patchCopy, serverAskedBy } from "./patch-copy.js";

/** An observation of grpc-js. */
export interface GrpcJsObservation {
  /** Removes everything that was observed from the registry, with the reason. The patches of grpc-js then cost only a check. */
  stop(reason?: string): void;
}

const allCopies = new SharedObservation("All copies of @grpc/grpc-js are");

/**
 * Shows the channels, subchannels, servers and connections of @grpc/grpc-js in the registry, whatever the option
 * `grpc.enable_channelz` of each says.
 *
 * Without `grpc`, those of every copy that this process loads, now or later; a copy that cannot be observed is warned about.
 * Else those of one copy: the module itself, or the file from which it is found; throws a TypeError if that copy is not found,
 * or is older than 1.12.6.
 *
 * Servers and shared subchannels that are there already appear at once, channels at their next call or change of state. All
 * are counted from now on. What is observed already is shared, until the last observation has stopped; asked for
 * another registry than the one it fills, that is a TypeError.
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
    observer.harmless(() => observer.addExisting(copy.internals, serverAskedBy));
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
