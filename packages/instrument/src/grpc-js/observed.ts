import type {
  ChannelHandle,
  ConnectivityState,
  ServerHandle,
  SubchannelHandle,
  TraceSeverity,
} from "@wirescope/channelz";
import type { ChannelzTrace, SeverityName } from "./internals.js";

const observedKey = Symbol("wirescope.grpc-js");

/** Stored on a grpc-js object while it is observed. Nothing else refers to it, so both are garbage-collected together. */
export interface Observed {
  /** The observer that stored it; other observers ignore it. */
  readonly observer: object;
}

type Subject = { [observedKey]?: Observed };

/** The value that this observer stored on an object, if any. */
export function getObserved<T extends Observed>(subject: object, observer: object): T | undefined {
  const observed = (subject as Subject)[observedKey];
  return observed?.observer === observer ? (observed as T) : undefined;
}

/** Stores a value on an object, as a property that is neither enumerated nor printed. */
export function setObserved(subject: object, observed: Observed): void {
  Object.defineProperty(subject, observedKey, { value: observed, configurable: true, enumerable: false });
}

/** Sets the state of an object that existed before the observation, through the states that it must have passed. */
export function adoptState(handle: ChannelHandle | SubchannelHandle, state: ConnectivityState): void {
  const cause = "state at the start of observation";
  if (state === "READY" || state === "TRANSIENT_FAILURE") handle.setState("CONNECTING", cause);
  // The cause of a failure would be shown as its reason, which is unknown.
  handle.setState(state, state === "TRANSIENT_FAILURE" ? "" : cause);
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
 * Events that the registry traces itself (creation, closing, state changes with causes, children with refs), and the connections
 * of a server, which would push everything else out of its trace. By their sentences: grpc-js passes nothing else than those and a
 * severity.
 */
const ignoredEvents =
  /^(?:(?:Channel|Subchannel|Server) created|Shutting down|Connectivity state change to .*|Created subchannel or used existing subchannel|Connection (?:established|dropped) by client .*)$/;

/** From now on, `forwardEvent` forwards the events of a grpc-js trace to this handle. */
export function forwardTrace(trace: ChannelzTrace, handle: Traced): void {
  handles.set(trace, new WeakRef(handle));
}

/** Forwards an event unless the registry traces it itself. */
export function forwardEvent(trace: ChannelzTrace, severity: SeverityName, description: string): void {
  if (ignoredEvents.test(description)) return;
  handles.get(trace)?.deref()?.trace(description, { severity: severities[severity] });
}
