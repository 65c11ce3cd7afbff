import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { GatewayTelemetry } from "@wirescope/gateway";
import type { Gateway } from "@wirescope/gateway/internal";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createSecretRegistry } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished, vi } from "vitest";
import { z } from "zod";

/** A string that no span may contain. */
export const canary = "canary-of-the-arguments";

export const pollOptions = { timeout: 60_000, interval: 10 };

/** A gateway with telemetry by the real SDK, and a server behind it. */
export interface FollowedGateway {
  readonly gateway: Gateway;
  /** The spans of ended requests, in order. */
  readonly spans: () => readonly ReadableSpan[];
  /** The spans of connection attempts. */
  readonly connects: () => readonly ReadableSpan[];
  /** The values of a metric as of now, by their attributes as JSON. */
  readonly metric: (name: string) => Promise<ReadonlyMap<string, unknown>>;
  /** The requests that the server received. */
  readonly received: readonly { readonly headers: IncomingMessage["headers"]; readonly body: Body }[];
  /** Posts a request of the newer era, and returns its response. */
  readonly send: (method: string, params?: object, headers?: Record<string, string>) => Promise<Body>;
  readonly close: () => Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read what comes over the wire.
type Body = any;

export async function startFollowed(
  changes: GatewayTelemetry = {},
  more: Readonly<Record<string, object>> = {},
): Promise<FollowedGateway> {
  const received: FollowedGateway["received"][number][] = [];
  const port = await serveWeather(received);
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const numbers = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: numbers, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const entries = {
    weather: { type: "http", url: `http://127.0.0.1:${port}/mcp` },
    absent: { type: "http", url: "http://127.0.0.1:9/mcp" },
    ...more,
  };
  const gateway = await runGateway({
    configurations: [
      {
        configuration: parseConfiguration(JSON.stringify({ mcpServers: entries })),
        variables: {},
        pluginRoot: process.cwd(),
        assertTrusted: async () => {},
        backOff: { firstMs: 20, maxMs: 200 },
      },
    ],
    secrets: createSecretRegistry(),
    telemetry: { tracerProvider: provider, meterProvider, ...changes },
  });
  const close = (): Promise<void> => gateway.close({ graceMs: 0 });
  onTestFinished(close);
  onTestFinished(() => meterProvider.shutdown());
  await vi.waitFor(() => expect(gateway.servers()[0]?.tools).toBe(3), pollOptions);
  let lastId = 0;
  return {
    gateway,
    spans: () => exporter.getFinishedSpans().filter(({ name }) => name !== "wirescope.connect"),
    connects: () => exporter.getFinishedSpans().filter(({ name }) => name === "wirescope.connect"),
    async metric(name) {
      numbers.reset();
      await reader.forceFlush();
      const all = numbers.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
      const found = all.find(({ descriptor }) => descriptor.name === name);
      const points = (found?.dataPoints ?? []) as readonly { attributes: object; value: unknown }[];
      return new Map(points.map(({ attributes, value }) => [JSON.stringify(attributes), value]));
    },
    received,
    async send(method, params = {}, headers = {}) {
      lastId += 1;
      const { _meta, ...rest } = params as { _meta?: object; name?: string };
      const envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
      };
      const request = { jsonrpc: "2.0", id: lastId, method, params: { ...rest, _meta: { ...envelope, ..._meta } } };
      const response = await fetch(gateway.endpoint ?? "", {
        method: "POST",
        headers: {
          authorization: `Bearer ${gateway.token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": method,
          ...(rest.name === undefined ? {} : { "mcp-name": rest.name }),
          ...headers,
        },
        body: JSON.stringify(request),
      });
      const text = await response.text();
      return JSON.parse(text.startsWith("{") ? text : text.slice(text.indexOf("data: ") + 6));
    },
    close,
  };
}

async function serveWeather(received: FollowedGateway["received"][number][]): Promise<number> {
  const handler = createMcpHandler(makeWeather, { legacy: "reject" });
  const handle = toNodeHandler(handler) as unknown as RequestListener;
  const server = createServer((request, response) => {
    const { headers } = request;
    let text = "";
    request.on("data", (chunk) => (text += chunk));
    request.on("end", () => received.push({ headers, body: JSON.parse(text || "{}") }));
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await handler.close();
  });
  return (server.address() as AddressInfo).port;
}

function makeWeather(): McpServer {
  const server = new McpServer({ name: "weather", version: "1.0.0" });
  const inputSchema = z.object({ city: z.string() });
  server.registerTool("forecast", { inputSchema }, () => ({ content: [{ type: "text", text: "sunny" }] }));
  server.registerTool("fail", { inputSchema }, ({ city }) => ({
    content: [{ type: "text", text: `No ${city}.` }],
    isError: true,
  }));
  server.registerTool("slow", { inputSchema }, () => new Promise(() => {}));
  return server;
}
