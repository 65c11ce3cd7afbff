import type { Copy } from "./copy.js";
import { type InternalChannel, stateOf } from "./internals.js";
import { noteClosed } from "./observer.js";

/** Watches what all channels of a copy do: their states, their calls, and the subchannels they use. */
export function patchChannels(copy: Copy): void {
  const prototype = copy.internals.channel;
  const { updateState, onCallStart, onCallEnd, addWrappedSubchannel, removeWrappedSubchannel } = prototype;

  // A channel sets its first state while it is constructed, so new channels are noticed here, too.
  prototype.updateState = function (state) {
    const observed = copy.observer?.channel(this);
    if (stateOf(state) === "SHUTDOWN") {
      noteClosed(this);
      observed?.end("closed by the application");
    } else {
      observed?.handle.setState(stateOf(state), causeOf(this, state));
    }
    updateState.call(this, state);
  };
  prototype.onCallStart = function () {
    copy.observer?.channel(this)?.handle.callStarted();
    onCallStart.call(this);
  };
  prototype.onCallEnd = function (status) {
    copy.observer?.channel(this)?.callEnded(status.code);
    onCallEnd.call(this, status);
  };
  prototype.addWrappedSubchannel = function (wrapped) {
    const { observer } = copy;
    // Before the wrapped one is in the channel's list, or a channel that is first seen here would count it twice.
    observer?.harmless(() => {
      const subchannel = observer.subchannel(wrapped.getRealSubchannel());
      if (subchannel !== undefined) observer.channel(this)?.use(subchannel);
    });
    addWrappedSubchannel.call(this, wrapped);
  };
  prototype.removeWrappedSubchannel = function (wrapped) {
    const { observer } = copy;
    observer?.harmless(() => {
      const subchannel = observer.subchannel(wrapped.getRealSubchannel());
      if (subchannel !== undefined) observer.channel(this)?.release(subchannel);
    });
    removeWrappedSubchannel.call(this, wrapped);
  };
}

/** Why there is no connection: the error of the calls that wait for one, without an empty note. */
function causeOf({ currentPicker }: InternalChannel, state: number): string {
  if (stateOf(state) !== "TRANSIENT_FAILURE") return "";
  return (currentPicker?.status?.details ?? "").replace(/\.? Resolution note: $/, "");
}
