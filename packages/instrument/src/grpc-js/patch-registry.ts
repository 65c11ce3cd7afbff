import type { Copy } from "./copy.js";
import { forwardEvent } from "./forward-trace.js";

/** Observes what a copy adds to its own registry: events, and objects that ended. */
export function patchRegistry(copy: Copy): void {
  const { channelz } = copy.internals;
  const { unregisterChannelzRef } = channelz;
  const prototype = channelz.ChannelzTrace.prototype;
  const { addTrace } = prototype;

  channelz.unregisterChannelzRef = (ref) => {
    unregisterChannelzRef(ref);
    copy.observer?.unregistered(ref);
  };
  prototype.addTrace = function (severity, description, child) {
    if (copy.observer !== undefined) forwardEvent(this, severity, description);
    addTrace.call(this, severity, description, child);
  };
}
