// The gateway under load, in a process of its own that can be counted: node --expose-gc gateway-process.js <limits as JSON>
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createRegistry } from "@wirescope/channelz";
import type { GatewayConfiguration } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createSecretRegistry } from "@wirescope/tool-server";
import { createConfiguration, type ToolServerLocation } from "@wirescope/tool-server/config";
import { type Census, takeCensus } from "./census.js";
import { serveParent } from "./child.js";

export type GatewayQuestion =
  | { readonly kind: "address" }
  | { readonly kind: "reload"; readonly entries: Record<string, ToolServerLocation> }
  /** What is held; and what is held after a collection. */
  | { readonly kind: "count" }
  | { readonly kind: "census" }
  | { readonly kind: "peak" }
  | { readonly kind: "states" };

/** The most that was held, and the longest that the event loop stood still. */
export interface Peak {
  readonly census: Census;
  readonly pauseMs: number;
}

export interface GatewayAddress {
  readonly url: string;
  readonly token: string;
}

const secrets = createSecretRegistry();
// What is kept of the past is bounded, and small here, so that growth is a leak.
const registry = createRegistry({ maxClosed: 100, maxTraceBytes: 256 * 1024 });
const configurationOf = (servers: Record<string, ToolServerLocation>): GatewayConfiguration => ({
  configuration: createConfiguration(servers, { secrets }),
  variables: { PATH: process.env.PATH },
  pluginRoot: process.cwd(),
  assertTrusted: async () => {},
  backOff: { firstMs: 50, maxMs: 1000 },
});
const gateway = await runGateway({
  configurations: [configurationOf({})],
  secrets,
  registry,
  limits: JSON.parse(process.argv[2] ?? "{}"),
  // Heard, as a log would.
  onEvent: () => {},
});

const delay = monitorEventLoopDelay();
delay.enable();
let peak: Census = takeCensus(registry.size);
const look = (): void => {
  const now = takeCensus(registry.size);
  const { channels, subchannels, servers, sockets, closed, traceEvents, traceBytes } = now.registry;
  peak = {
    files: Math.max(peak.files, now.files),
    sockets: Math.max(peak.sockets, now.sockets),
    processes: Math.max(peak.processes, now.processes),
    heapBytes: Math.max(peak.heapBytes, now.heapBytes),
    residentBytes: Math.max(peak.residentBytes, now.residentBytes),
    cpuMs: now.cpuMs,
    registry: {
      channels: Math.max(peak.registry.channels, channels),
      subchannels: Math.max(peak.registry.subchannels, subchannels),
      servers: Math.max(peak.registry.servers, servers),
      sockets: Math.max(peak.registry.sockets, sockets),
      closed: Math.max(peak.registry.closed, closed),
      traceEvents: Math.max(peak.registry.traceEvents, traceEvents),
      traceBytes: Math.max(peak.registry.traceBytes, traceBytes),
    },
  };
};
setInterval(look, 2000).unref();

/** What is held once all that nobody needs is gone: some of it only goes when a collection was followed by a turn or two. */
async function census(): Promise<Census> {
  for (let round = 0; round < 4; round += 1) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return takeCensus(registry.size);
}

serveParent(
  (question: GatewayQuestion) => {
    switch (question.kind) {
      case "address":
        return { url: gateway.url, token: gateway.token };
      case "reload":
        return gateway.reload([configurationOf(question.entries)]);
      case "count":
        return takeCensus(registry.size);
      case "census":
        return census();
      case "peak":
        return { census: peak, pauseMs: delay.max / 1e6 } satisfies Peak;
      case "states":
        return gateway.servers();
    }
  },
  () => gateway.close({ graceMs: 0 }),
);
