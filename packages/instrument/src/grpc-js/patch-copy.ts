import { makeForLibrary } from "../http2/patch-module.js";
import type { Copy } from "./copy.js";
import { type InternalChannel, type Server, stateOf } from "./internals.js";
import { forwardEvent } from "./observed.js";
import { noteClosed } from "./observer.js";
import { patchSubchannels } from "./patch-subchannels.js";

/** Patches the classes of a copy, so that its observer, if it has one, is called for what they do. */
export function patchCopy(copy: Copy): void {
  patchChannels(copy);
  patchSubchannels(copy);
  patchServers(copy);
  patchRegistry(copy);
}

/** Observes the states, calls and subchannels of all channels of a copy. */
function patchChannels(copy: Copy): void {
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
    // Before the subchannel is in the channel's list, or a channel that is first seen here would count it twice.
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

/** The reason of TRANSIENT_FAILURE: the error of waiting calls, without an empty resolution note. */
function causeOf({ currentPicker }: InternalChannel, state: number): string {
  if (stateOf(state) !== "TRANSIENT_FAILURE") return "";
  return (currentPicker?.status?.details ?? "").replace(/\.? Resolution note: $/, "");
}

/** The server whose info was read last. */
let lastAsked: Server | undefined;

/** Finds the server behind an entry of grpc-js's registry, which is only a closure, by calling it. */
export function serverAskedBy(ask: () => void): Server | undefined {
  lastAsked = undefined;
  ask();
  const asked = lastAsked;
  lastAsked = undefined;
  return asked;
}

/** Observes all servers of a copy, from construction to shutdown. */
function patchServers(copy: Copy): void {
  const { channelz, server: prototype } = copy.internals;
  const { getChannelzInfo, createHttp2Server, _setupHandlers } = prototype;
  const { registerChannelzServer } = channelz;

  channelz.registerChannelzServer = (name, getInfo, isEnabled) => {
    const ref = registerChannelzServer(name, getInfo, isEnabled);
    if (copy.observer !== undefined) {
      const server = copy.observer.harmless(() => serverAskedBy(getInfo));
      if (server !== undefined) copy.observer.server(server, ref);
    }
    return ref;
  };
  prototype.getChannelzInfo = function () {
    if (copy.observer !== undefined) lastAsked = this;
    return getChannelzInfo.call(this);
  };
  prototype.createHttp2Server = function (...args) {
    return makeForLibrary(() => createHttp2Server.apply(this, args));
  };
  prototype._setupHandlers = function (http2Server, ...rest) {
    _setupHandlers.call(this, http2Server, ...rest);
    const { observer } = copy;
    observer?.harmless(() => observer.server(this, this.getChannelzRef())?.serve(http2Server));
  };
}

/** Observes what a copy adds to its own registry: events, and objects that ended. */
function patchRegistry(copy: Copy): void {
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
