import type { ChannelHandle } from "@wirescope/channelz";
import { createForLibrary } from "../http2/patch-module.js";
import type { Copy } from "./copy.js";
import { type NestedCall, type SingleSubchannelChannel, type Status, stateOf } from "./internals.js";
import { getObserved } from "./observed.js";
import type { ObservedSubchannel } from "./observed-subchannel.js";

/** Observes the states, connections and calls of all subchannels of a copy. */
export function patchSubchannels(copy: Copy): void {
  const prototype = copy.internals.subchannel;
  const { ref, transitionToState, createCall, getChannel } = prototype;

  // The pool calls this for each new subchannel, so new ones are detected here.
  prototype.ref = function () {
    ref.call(this);
    copy.observer?.subchannel(this);
  };
  prototype.transitionToState = function (from, to, errorMessage) {
    // Before grpc-js's own listeners, so that the changes they cause are reported after this one.
    if (copy.observer !== undefined && from.includes(this.connectivityState)) {
      copy.observer.subchannel(this)?.setState(stateOf(to), errorMessage);
    }
    return transitionToState.call(this, from, to, errorMessage);
  };
  prototype.createCall = function (...args) {
    const { observer } = copy;
    const { transport } = this;
    // The subchannel was connecting when the observation started.
    if (observer !== undefined && transport !== null && getObserved(transport, observer) === undefined) {
      observer.guard(() => observer.subchannel(this)?.connected(transport));
    }
    const call = createCall.apply(this, args);
    if (observer !== undefined) getObserved<ObservedSubchannel>(call.transport, observer)?.handle.callStarted();
    return call;
  };
  if (getChannel !== undefined) {
    prototype.getChannel = function () {
      const channel = getChannel.call(this);
      const { observer } = copy;
      observer?.guard(() => observer.subchannel(this)?.nest(channel));
      return channel;
    };
  }
  patchCalls(copy);
  patchConnectors(copy);
  if (copy.internals.singleSubchannelChannel !== undefined) patchNested(copy, copy.internals.singleSubchannelChannel);
}

function patchCalls(copy: Copy): void {
  const prototype = copy.internals.subchannelCall;
  const { outputStatus } = prototype;
  prototype.outputStatus = function () {
    if (copy.observer !== undefined && !this.statusOutput && this.finalStatus !== null) {
      getObserved<ObservedSubchannel>(this.transport, copy.observer)?.callEnded(this.finalStatus.code);
    }
    outputStatus.call(this);
  };
}

function patchConnectors(copy: Copy): void {
  const prototype = copy.internals.connector;
  const { connect, createSession } = prototype;
  prototype.connect = function (...args) {
    const connecting = connect.apply(this, args);
    const { observer } = copy;
    const subchannel = observer && getObserved<ObservedSubchannel>(this, observer);
    if (observer !== undefined && subchannel !== undefined) {
      // Runs before the subchannel's own handler, which reads the outcome afterwards.
      connecting.then(
        (transport) => {
          if (copy.observer === observer) observer.guard(() => subchannel.connected(transport));
        },
        () => {},
      );
    }
    return connecting;
  };
  prototype.createSession = function (...args) {
    return createForLibrary(() => createSession.apply(this, args));
  };
}

/** grpc-js does not count the calls of these channels itself. */
function patchNested(copy: Copy, prototype: SingleSubchannelChannel): void {
  const { createCall, close } = prototype;
  prototype.createCall = function (...args) {
    const call = createCall.apply(this, args);
    const subchannel = copy.observer && getObserved<ObservedSubchannel>(this, copy.observer);
    if (subchannel?.nested !== undefined) followNestedCall(call, subchannel.nested);
    return call;
  };
  prototype.close = function () {
    if (copy.observer !== undefined) getObserved<ObservedSubchannel>(this, copy.observer)?.unnest();
    close.call(this);
  };
}

function followNestedCall(call: NestedCall, channel: ChannelHandle): void {
  const { start } = call;
  call.start = (metadata, listener) => {
    channel.callStarted();
    const { onReceiveStatus } = listener;
    let hasEnded = false;
    listener.onReceiveStatus = (status: Status) => {
      if (!hasEnded) {
        hasEnded = true;
        if (status.code === 0) channel.callSucceeded();
        else channel.callFailed();
      }
      onReceiveStatus.call(listener, status);
    };
    return start.call(call, metadata, listener);
  };
}
