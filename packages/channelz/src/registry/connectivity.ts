/** The connectivity states of a channel or subchannel. */
export type ConnectivityState = "UNKNOWN" | "IDLE" | "CONNECTING" | "READY" | "TRANSIENT_FAILURE" | "SHUTDOWN";

/** The numbers of the states on the wire. */
export const stateNumbers: Readonly<Record<ConnectivityState, number>> = {
  UNKNOWN: 0,
  IDLE: 1,
  CONNECTING: 2,
  READY: 3,
  TRANSIENT_FAILURE: 4,
  SHUTDOWN: 5,
};

/**
 * The transitions of gRPC's connectivity semantics. Any state may follow UNKNOWN. With pick_first, a channel stays in
 * TRANSIENT_FAILURE while it reconnects, and changes directly to READY (gRFC A62).
 */
const edges: Readonly<Record<ConnectivityState, readonly ConnectivityState[]>> = {
  UNKNOWN: ["IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"],
  IDLE: ["CONNECTING", "SHUTDOWN"],
  CONNECTING: ["READY", "TRANSIENT_FAILURE", "IDLE", "SHUTDOWN"],
  READY: ["TRANSIENT_FAILURE", "IDLE", "SHUTDOWN"],
  TRANSIENT_FAILURE: ["CONNECTING", "READY", "SHUTDOWN"],
  SHUTDOWN: [],
};

/** Whether gRPC's semantics allow this transition. A subchannel also returns to IDLE after its back-off. */
export function isExpectedTransition(from: ConnectivityState, to: ConnectivityState, isSubchannel: boolean): boolean {
  return edges[from].includes(to) || (isSubchannel && from === "TRANSIENT_FAILURE" && to === "IDLE");
}

/** Throws a TypeError for an unknown state. */
export function checkState(state: ConnectivityState): void {
  if (Object.hasOwn(stateNumbers, state)) return;
  throw new TypeError(`state must be one of ${Object.keys(stateNumbers).join(", ")}, not ${String(state)}.`);
}
