import type { GatewayObserver, ObserverContext } from "../../gateway-observer.js";
import { createCallLog } from "./call-log.js";

/** Keeps the latest calls for the page, and serves them. */
export function startCallLog({ objectId, redact, clock, events, capturesBodies }: ObserverContext): GatewayObserver {
  const log = createCallLog({
    objectId,
    redact,
    now: () => clock.now(),
    capturesBodies,
    onDefect: events.reportDefect,
  });
  return {
    calls: log,
    features: { calls: true, capture: capturesBodies },
    service: {
      name: "wirescope.v1.CallService",
      async load(assertAdministrator) {
        const { createCallService } = await import("./call-service.js");
        return createCallService({ log, redact, assertAdministrator });
      },
    },
    close: log.close,
  };
}
