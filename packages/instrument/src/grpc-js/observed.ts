import type {
  ChannelHandle,
  ConnectivityState,
  ServerHandle,
  SubchannelHandle,
  TraceSeverity,
} from "@wirescope/channelz";
import type { ChannelzTrace, SeverityName } from "./internals.js";

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

type Traced = ChannelHandle | SubchannelHandle | ServerHandle;

/** Weak, since grpc-js keeps the traces of channels that the application dropped. */
const handles = new WeakMap<ChannelzTrace, WeakRef<Traced>>();

const severities: Readonly<Record<SeverityName, TraceSeverity>> = {
  CT_UNKNOWN: "unknown",
  CT_INFO: "info",
  CT_WARNING: "warning",
  CT_ERROR: "error",
};

/**
 * What the registry reports better by itself (created, closed, states with their causes, children with their refs), and each
 * connection of a server that comes and goes, which would wash out all else.
 */
const notNews =
  /^(?:(?:Channel|Subchannel|Server) created|Shutting down|Connectivity state change to .*|Created subchannel or used existing subchannel|Connection (?:established|dropped) by client .*)$/;

/** Lets what grpc-js adds to a trace of its own appear in the registry's too. */
export function forwardTrace(trace: ChannelzTrace, handle: Traced): void {
  handles.set(trace, new WeakRef(handle));
}

/** Hands an event on, if it says what the registry does not know. */
export function forwardEvent(trace: ChannelzTrace, severity: SeverityName, description: string): void {
  if (notNews.test(description)) return;
  handles.get(trace)?.deref()?.trace(description, { severity: severities[severity] });
}
