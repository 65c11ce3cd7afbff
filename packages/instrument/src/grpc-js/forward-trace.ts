import type { ChannelHandle, ServerHandle, SubchannelHandle, TraceSeverity } from "@wirescope/channelz";
import type { ChannelzTrace, SeverityName } from "./internals.js";

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
