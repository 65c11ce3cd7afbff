import type { ChannelHandle, ConnectivityState, SubchannelHandle } from "@wirescope/channelz";

const observedKey = Symbol("wirescope.grpc-js");

/** What is kept on an object of grpc-js's while it is observed: held by that object alone, so that it goes with it. */
export interface Observed {
  /** By whom; what another observer left behind does not count. */
  readonly observer: object;
}

type Subject = { [observedKey]?: Observed };

/** What an observer keeps on an object, if it does. */
export function observedOn<T extends Observed>(subject: object, observer: object): T | undefined {
  const observed = (subject as Subject)[observedKey];
  return observed?.observer === observer ? (observed as T) : undefined;
}

/** Keeps something on an object, where neither a loop over its properties nor a print of it shows it. */
export function noteOn(subject: object, observed: Observed): void {
  Object.defineProperty(subject, observedKey, { value: observed, configurable: true, enumerable: false });
}

/** Takes over the state of what was there before it was observed, by the way it must have come. */
export function takeOverState(handle: ChannelHandle | SubchannelHandle, state: ConnectivityState): void {
  const cause = "as it was found";
  if (state === "READY" || state === "TRANSIENT_FAILURE") handle.setState("CONNECTING", cause);
  handle.setState(state, cause);
}
