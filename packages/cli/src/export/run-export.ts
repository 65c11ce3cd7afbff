import { createServer, type Server } from "node:http";
import { isIP } from "node:net";
import type { ObservableResult } from "@opentelemetry/api";
import { printableText } from "@wirescope/channelz/internal/text";
import { createSecretRegistry } from "@wirescope/tool-server";
import { exitCode } from "../failure.js";
import { eachSnapshot, type LiveTask } from "../live/live-task.js";
import { silentTarget } from "../output/silent-target.js";
import { startTelemetry } from "../telemetry/telemetry.js";
import { UsageError } from "../usage-error.js";
import { version } from "../version.js";
import { type ChannelzMetrics, createChannelzMetrics } from "./channelz-metrics.js";
import { formatPrometheus } from "./prometheus-text.js";

interface ExportValues {
  readonly listen: string | undefined;
  readonly expose: boolean;
  readonly "max-names": string | undefined;
  readonly json: boolean;
}

/** Serves the metrics of processes to Prometheus, and sends them to an OpenTelemetry collector if the variables name one. */
export async function runExport({ sampler, io, screen, values, signal }: LiveTask<ExportValues>): Promise<number> {
  const address = parseListen(values.listen ?? "127.0.0.1:9464");
  if (!address.isLoopback && !values.expose) {
    throw new UsageError(
      `${values.listen} can be reached by other machines, and the metrics contain names and targets. Use --expose to allow it.`,
    );
  }
  const metrics = createChannelzMetrics(parseMaxNames(values["max-names"]));
  const say = (text: string): void => void io.stderr.write(`wirescope: ${printableText(text)}\n`);
  const telemetry = await startTelemetry({
    env: io.env,
    version: version(),
    secrets: createSecretRegistry(),
    say,
    log: say,
  });
  if (telemetry.meterProvider) observe(telemetry.meterProvider.getMeter("wirescope"), metrics);
  const server = createServer((request, response) => {
    const isKnownHost = !address.isLoopback || isLoopbackHost(request.headers.host ?? "");
    const status = !isKnownHost ? 403 : request.url === "/metrics" ? (isRead(request.method) ? 200 : 405) : 404;
    const text = status === 200 ? formatPrometheus(metrics.read()) : `${status}. The metrics are at /metrics.\n`;
    response.writeHead(status, {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
      "cache-control": "no-store",
    });
    response.end(request.method === "HEAD" ? undefined : text);
  });
  try {
    const url = await listen(server, address);
    screen.print(values.json ? JSON.stringify({ metrics: url }) : `Metrics are at ${url}. Press Ctrl-C to stop.`);
    let isReported = false;
    await eachSnapshot(sampler, signal, (snapshot) => {
      metrics.observe(snapshot, sampler.cost().lastMs);
      const silent = snapshot.origins.filter(({ error }) => error !== undefined);
      if (silent.length > 0 && !isReported) {
        const [first = { name: "", target: "" }, ...others] = silent;
        const all = others.length === 0 ? "" : `${silent.length} targets do not respond. The first: `;
        say(`${all}${silentTarget(first)}`);
      }
      isReported = silent.length > 0;
      return undefined;
    });
    return exitCode.ok;
  } finally {
    server.close();
    server.closeAllConnections();
    await telemetry.flush?.();
  }
}

function isRead(method: string | undefined): boolean {
  return method === "GET" || method === "HEAD";
}

interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly isLoopback: boolean;
}

function parseListen(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-f:]+)\]|([^:[\]]*)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw new UsageError(`--listen "${text}" is not an address such as 127.0.0.1:9464.`);
  const host = match[1] ?? (match[2] || "127.0.0.1");
  return { host, port, isLoopback: host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host) };
}

/** Protects against DNS rebinding: a page of another origin sends its own host name. */
function isLoopbackHost(header: string): boolean {
  const host = header.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  return host === "localhost" || isIP(host) !== 0;
}

function parseMaxNames(text: string | undefined): number {
  if (text === undefined) return 200;
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count < 1) throw new UsageError(`--max-names "${text}" is not a positive integer.`);
  return count;
}

async function listen(server: Server, { host, port }: ListenAddress): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(new UsageError(`Cannot listen on ${host}:${port}: ${error.message}.`)));
    server.listen(port, host, resolve);
  });
  const bound = server.address();
  const used = typeof bound === "object" && bound !== null ? bound.port : port;
  return `http://${host.includes(":") ? `[${host}]` : host}:${used}/metrics`;
}

type Meter = ReturnType<
  Exclude<Awaited<ReturnType<typeof startTelemetry>>["meterProvider"], false | undefined>["getMeter"]
>;

/** The same metrics for OpenTelemetry. */
function observe(meter: Meter, metrics: ChannelzMetrics): void {
  const instruments = createChannelzMetrics(1);
  instruments.observe({ timeMs: 0, origins: [], objects: new Map(), isComplete: true }, 0);
  for (const { name, type, help } of instruments.read()) {
    const options = { description: help };
    const instrument =
      type === "counter" ? meter.createObservableCounter(name, options) : meter.createObservableGauge(name, options);
    instrument.addCallback((result: ObservableResult) => {
      const found = metrics.read().find((metric) => metric.name === name);
      for (const { labels, value } of found?.samples ?? []) result.observe(value, labels);
    });
  }
}
