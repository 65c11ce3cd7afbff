import type {
  ChannelHandle,
  ConnectivityState,
  ServerHandle,
  SubchannelHandle,
  TraceSeverity,
} from "@wirescope/channelz";
import type { ChannelzTrace, SeverityName } from "./internals.js";

const observedKey = Symbol("wirescope.grpc-js");

/** What is stored on a grpc-js object while it is observed. Only that object refers to it, so both are collected together. */
export interface Observed {
  /** Its observer; the data of another observer is ignored. */
  readonly observer: object;
}

type Subject = { [observedKey]?: Observed };

/** What this observer stored on an object, if anything. */
export function observedOn<T extends Observed>(subject: object, observer: object): T | undefined {
  const observed = (subject as Subject)[observedKey];
  return observed?.observer === observer ? (observed as T) : undefined;
}

/** Stores something on an object as a property that is neither enumerated nor printed. */
export function noteOn(subject: object, observed: Observed): void {
  Object.defineProperty(subject, observedKey, { value: observed, configurable: true, enumerable: false });
}

/** Sets the state of an object that existed before it was observed, through the states it must have passed. */
export function takeOverState(handle: ChannelHandle | SubchannelHandle, state: ConnectivityState): void {
  const cause = "as it was found";
  if (state === "READY" || state === "TRANSIENT_FAILURE") handle.setState("CONNECTING", cause);
  handle.setState(state, cause);
}

type Traced = ChannelHandle | SubchannelHandle | ServerHandle;

/** Weak, because grpc-js keeps the traces of channels that the application dropped. */
const handles = new WeakMap<ChannelzTrace, WeakRef<Traced>>();

const severities: Readonly<Record<SeverityName, TraceSeverity>> = {
  CT_UNKNOWN: "unknown",
  CT_INFO: "info",
  CT_WARNING: "warning",
  CT_ERROR: "error",
};

/**
 * Events that the registry reports itself (created, closed, states with causes, children with refs), and each connection of a
 * server, which would push out everything else.
 */
const notNews =
  /^(?:(?:Channel|Subchannel|Server) created|Shutting down|Connectivity state change to .*|Created subchannel or used existing subchannel|Connection (?:established|dropped) by client .*)$/;

/** Forwards the events of a grpc-js trace to the registry. */
export function forwardTrace(trace: ChannelzTrace, handle: Traced): void {
  handles.set(trace, new WeakRef(handle));
}

/** Forwards an event unless the registry reports it itself. */
export function forwardEvent(trace: ChannelzTrace, severity: SeverityName, description: string): void {
  if (notNews.test(description)) return;
  handles.get(trace)?.deref()?.trace(description, { severity: severities[severity] });
}
