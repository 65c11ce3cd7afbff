import type { CallPhases } from "../call-phases.js";
import type { TransportInfo } from "../connection-info.js";
import { channels, publish } from "../diagnostics.js";

/**
 * Publishes the steps of a connection that belongs to no single call, such as that of a handshake, for which many calls may wait. Undefined
 * if nothing subscribes.
 */
export function publishPhases(transport: TransportInfo): CallPhases | undefined {
  if (!channels["transport:connecting"].hasSubscribers) return undefined;
  return {
    begin: (phase) => publish("transport:connecting", { transport, phase, isOver: false }),
    end: (phase) => publish("transport:connecting", { transport, phase, isOver: true }),
    retry() {},
  };
}
