import type { Registry } from "@wirescope/channelz/registry";
import { observeToolServers } from "@wirescope/instrument/tool-server";
import type { ConnectionInfo } from "@wirescope/tool-server";
import { type CallObserver, joinObservers } from "./call-observer.js";
import type { GatewayObserver, ObserverContext, ObserverService, StartObserver, TextPage } from "./gateway-observer.js";
import { startCallLog } from "./observers/call-log/start-call-log.js";
import { startEventLog } from "./observers/event-log.js";
import { startMetrics } from "./observers/metrics/metrics.js";
import { startTelemetry } from "./observers/telemetry/start-telemetry.js";

/** To remove an observer, delete its file or folder, its line here and its import. */
const observerStarts: readonly StartObserver[] = [
  startMetrics,
  startCallLog,
  startEventLog,
  // Last, because it exports the metrics of the others. It is closed first, and exports what ended meanwhile.
  startTelemetry,
];

/** Everything that observes the calls and connections of a gateway. */
export interface GatewayObservers {
  /** All call observers, combined. */
  readonly calls: Required<CallObserver>;
  readonly pages: Readonly<Record<string, TextPage>>;
  readonly services: readonly ObserverService[];
  readonly features: NonNullable<GatewayObserver["features"]>;
  /** The id of the Channelz channel that shows a connection. */
  readonly channelId: (connection: ConnectionInfo) => number | undefined;
  /** Stops them, and exports the remaining data. Never rejects. */
  close(): Promise<void>;
}

export interface GatewayObserversOptions extends Omit<ObserverContext, "objectId" | "metrics"> {
  readonly registry: Registry;
}

export async function createGatewayObservers({
  registry,
  ...options
}: GatewayObserversOptions): Promise<GatewayObservers> {
  const { objectId, channelId, stop } = observeToolServers({ registry });
  const observers: GatewayObserver[] = [];
  for (const start of observerStarts) {
    const metrics = observers.flatMap((observer) => observer.metrics ?? []);
    const observer = await start({ ...options, objectId, metrics });
    if (observer !== undefined) observers.push(observer);
  }
  return {
    calls: joinObservers(
      observers.flatMap(({ calls }) => calls ?? []),
      options.events.reportDefect,
    ),
    pages: Object.assign({}, ...observers.map(({ pages }) => pages)),
    services: observers.flatMap(({ service }) => service ?? []),
    features: Object.assign({}, ...observers.map(({ features }) => features)),
    channelId,
    async close() {
      stop();
      for (const observer of observers.toReversed()) {
        // One that fails has not stopped, but the gateway has.
        await Promise.resolve(observer.close?.()).catch(() => {});
      }
    },
  };
}
