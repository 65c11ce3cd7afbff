import type { ChannelHandle, Registry } from "@wirescope/channelz";
import { type InternalChannel, stateOf } from "./internals.js";
import { adoptState, forwardTrace, type Observed } from "./observed.js";
import type { ObservedSubchannel } from "./observed-subchannel.js";

/** A grpc-js channel in the registry. */
export class ObservedChannel implements Observed {
  readonly observer: object;
  readonly handle: ChannelHandle;
  /** The subchannels in use, with a reference count: a load balancing policy overlaps with the one that replaces it. */
  readonly #uses = new Map<ObservedSubchannel, number>();
  #hasEnded = false;

  constructor(observer: object, registry: Registry, channel: InternalChannel) {
    this.observer = observer;
    const { target, trace } = channel.channelzInfoTracker;
    this.handle = registry.addChannel({ target });
    forwardTrace(trace, this.handle);
    for (let call = 0; call < channel.callCount; call += 1) this.handle.callStarted();
    adoptState(this.handle, stateOf(channel.connectivityState));
  }

  callEnded(code: number): void {
    if (code === 0) this.handle.callSucceeded();
    else this.handle.callFailed();
  }

  /** Ignored after the end: a late resolver result makes grpc-js create subchannels for a closed channel. */
  use(subchannel: ObservedSubchannel): void {
    if (this.#hasEnded) return;
    const uses = this.#uses.get(subchannel) ?? 0;
    this.#uses.set(subchannel, uses + 1);
    if (uses === 0) subchannel.addParent(this.handle);
  }

  release(subchannel: ObservedSubchannel): void {
    const uses = this.#uses.get(subchannel) ?? 0;
    if (uses > 1) {
      this.#uses.set(subchannel, uses - 1);
    } else if (this.#uses.delete(subchannel)) {
      subchannel.removeParent(this.handle);
    }
  }

  end(reason: string): void {
    this.#hasEnded = true;
    this.handle.close(reason);
  }
}
