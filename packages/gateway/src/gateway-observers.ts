import type { Registry } from "@wirescope/channelz/registry";
import { observeToolServers } from "@wirescope/instrument/tool-server";
import type { Clock } from "@wirescope/tool-server";
import { type CallObserver, joinObservers } from "./call-observer.js";
import type { GatewayEvents } from "./events.js";
import type { GatewayOptions } from "./gateway-options.js";
import { type CallLog, createCallLog } from "./observers/call-log/call-log.js";
import { createEventLog } from "./observers/event-log.js";
import { createMetrics, type Metrics } from "./observers/metrics/metrics.js";
import { startTelemetry } from "./observers/telemetry/start-telemetry.js";
import type { Telemetry } from "./observers/telemetry/telemetry.js";
import type { TraceFieldReader } from "./trace-fields.js";

/** Everything that observes the calls and connections of a gateway. */
export interface GatewayObservers {
  /** All call observers, combined. */
  readonly calls: Required<CallObserver>;
  readonly callLog: CallLog;
  readonly metrics: Metrics;
  readonly telemetry: Telemetry | undefined;
  /** The id of the Channelz channel that shows a connection. */
  readonly channelId: ReturnType<typeof observeToolServers>["channelId"];
  /** Stops them, and exports the remaining data. Never rejects. */
  close(): Promise<void>;
}

export interface GatewayObserversOptions
  extends Pick<GatewayOptions, "secrets" | "telemetry" | "logsArguments" | "capturesBodies"> {
  readonly registry: Registry;
  readonly events: GatewayEvents;
  readonly traceFields: TraceFieldReader;
  readonly transport: "tcp" | "unix";
  readonly clock: Clock;
  /** Redacts text about a server. */
  readonly redactAbout: (text: string, server: string | undefined) => string;
}

/** To remove an observer, delete its folder and its entry here. */
export async function createGatewayObservers(options: GatewayObserversOptions): Promise<GatewayObservers> {
  const { secrets, registry, events, traceFields, transport, clock } = options;
  const telemetry = await startTelemetry({ telemetry: options.telemetry ?? {}, reader: traceFields, transport });
  const metrics = createMetrics(events);
  const eventLog = createEventLog({ events, redact: secrets.redact, logsArguments: options.logsArguments ?? false });
  const toolServers = observeToolServers({ registry });
  const callLog = createCallLog({
    objectId: toolServers.objectId,
    redact: options.redactAbout,
    now: () => clock.now(),
    capturesBodies: options.capturesBodies,
  });
  return {
    calls: joinObservers([metrics, callLog, eventLog, ...(telemetry ? [telemetry] : [])], events.reportDefect),
    callLog,
    metrics,
    telemetry,
    channelId: toolServers.channelId,
    async close() {
      callLog.close();
      toolServers.stop();
      // Last, to export what ended meanwhile. If that fails, the gateway has shut down all the same.
      await telemetry?.close().catch(() => {});
    },
  };
}
