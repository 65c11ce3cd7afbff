import { createForLibrary } from "../http2/patch-module.js";
import type { Copy } from "./copy.js";
import { type InternalChannel, type Server, stateOf } from "./internals.js";
import { forwardEvent } from "./observed.js";
import { markClosed } from "./observer.js";
import { patchSubchannels } from "./patch-subchannels.js";

/** Patches the classes of a copy so that they notify its observer, if it has one. */
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

  // A channel sets its first state in its constructor, so new channels are detected here, too.
  prototype.updateState = function (state) {
    const observed = copy.observer?.channel(this);
    if (stateOf(state) === "SHUTDOWN") {
      markClosed(this);
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
    // Before the subchannel is in the channel's list, or a channel that is observed from here on would count it twice.
    observer?.guard(() => {
      const subchannel = observer.subchannel(wrapped.getRealSubchannel());
      if (subchannel !== undefined) observer.channel(this)?.use(subchannel);
    });
    addWrappedSubchannel.call(this, wrapped);
  };
  prototype.removeWrappedSubchannel = function (wrapped) {
    const { observer } = copy;
    observer?.guard(() => {
      const subchannel = observer.subchannel(wrapped.getRealSubchannel());
      if (subchannel !== undefined) observer.channel(this)?.release(subchannel);
    });
    removeWrappedSubchannel.call(this, wrapped);
  };
}

/** The cause of TRANSIENT_FAILURE: the error that calls fail with, without an empty resolution note. */
function causeOf({ currentPicker }: InternalChannel, state: number): string {
  if (stateOf(state) !== "TRANSIENT_FAILURE") return "";
  return (currentPicker?.status?.details ?? "").replace(/\.? Resolution note: $/, "");
}

/** The server whose info was read last. */
let lastServer: Server | undefined;

/** Finds the server behind an entry of grpc-js's registry: the entry is a closure, which calls `getChannelzInfo` on the server. */
export function captureServer(readInfo: () => void): Server | undefined {
  lastServer = undefined;
  readInfo();
  const server = lastServer;
  lastServer = undefined;
  return server;
}

/** Observes all servers of a copy, from construction to shutdown. */
function patchServers(copy: Copy): void {
  const { channelz, server: prototype } = copy.internals;
  const { getChannelzInfo, createHttp2Server, _setupHandlers } = prototype;
  const { registerChannelzServer } = channelz;

  channelz.registerChannelzServer = (name, getInfo, isEnabled) => {
    const ref = registerChannelzServer(name, getInfo, isEnabled);
    if (copy.observer !== undefined) {
      const server = copy.observer.guard(() => captureServer(getInfo));
      if (server !== undefined) copy.observer.server(server, ref);
    }
    return ref;
  };
  prototype.getChannelzInfo = function () {
    if (copy.observer !== undefined) lastServer = this;
    return getChannelzInfo.call(this);
  };
  prototype.createHttp2Server = function (...args) {
    return createForLibrary(() => createHttp2Server.apply(this, args));
  };
  prototype._setupHandlers = function (http2Server, ...rest) {
    _setupHandlers.call(this, http2Server, ...rest);
    const { observer } = copy;
    observer?.guard(() => observer.server(this, this.getChannelzRef())?.serve(http2Server));
  };
}

/** Observes the copy's own registry: trace events, and objects that are removed. */
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
