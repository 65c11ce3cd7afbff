import type { Registry } from "@wirescope/channelz";
import { findCopy, loadedCopies, watchCopies } from "./copies.js";
import { type Copy, openCopy } from "./copy.js";
import { Observer } from "./observer.js";
import { patchChannels } from "./patch-channels.js";
import { patchRegistry } from "./patch-registry.js";
import { patchServers, serverAskedBy } from "./patch-servers.js";
import { patchSubchannels } from "./patch-subchannels.js";

/** What observes grpc-js, until it is stopped. */
export interface GrpcJsObservation {
  /** Takes all that was observed out of the registry, with the reason. From now on grpc-js is as it was but for a check. */
  stop(reason?: string): void;
}

/**
 * Shows the channels, subchannels, servers and connections of @grpc/grpc-js in the registry, whatever the option
 * `grpc.enable_channelz` of each says.
 *
 * Without `grpc`, those of every copy that this process loads, now or later; a copy that cannot be observed is warned about.
 * Else those of one copy: the module itself, or the file from which it is found; throws a TypeError if that copy is not found,
 * is observed already, or is older than 1.12.6.
 *
 * Servers and shared subchannels that are there already appear at once, channels at their next call or change of state. All
 * are counted from now on.
 */
export function observeGrpcJs(registry: Registry, grpc?: object | string): GrpcJsObservation {
  const observed = new Map<Copy, Observer>();
  const observe = (mainFile: string): void => {
    const copy = openCopy(mainFile, patchCopy);
    if (observed.has(copy)) return;
    if (copy.observer !== undefined) {
      throw new TypeError(
        `The @grpc/grpc-js at ${mainFile} is observed already. Call stop() of that observation first.`,
      );
    }
    const observer = new Observer(registry);
    copy.observer = observer;
    observed.set(copy, observer);
    observer.harmless(() => observer.addExisting(copy.internals, serverAskedBy));
  };
  let stopWatching: (() => void) | undefined;
  if (grpc !== undefined) {
    observe(findCopy(grpc));
  } else {
    const observeOrWarn = (mainFile: string): void => warnInstead(() => observe(mainFile));
    stopWatching = watchCopies(observeOrWarn);
    for (const mainFile of loadedCopies()) observeOrWarn(mainFile);
  }
  return {
    stop(reason = "no longer observed") {
      stopWatching?.();
      stopWatching = undefined;
      for (const [copy, observer] of observed) {
        copy.observer = undefined;
        observer.stop(reason);
      }
      observed.clear();
    },
  };
}

/** A library of the application's may bring a copy that nobody asked about. */
function warnInstead(work: () => void): void {
  try {
    work();
  } catch (error) {
    process.emitWarning(String(error), { type: "ChannelzWarning", code: "GRPC_JS_NOT_OBSERVED" });
  }
}

function patchCopy(copy: Copy): void {
  patchChannels(copy);
  patchSubchannels(copy);
  patchServers(copy);
  patchRegistry(copy);
}
