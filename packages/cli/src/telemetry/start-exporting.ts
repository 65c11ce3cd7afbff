import type { MeterProvider as Meters, TracerProvider as Tracers } from "@opentelemetry/api";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { shownUrl, type TelemetrySettings } from "./telemetry-settings.js";

/** The running exports. */
interface Exporting {
  readonly tracerProvider: Tracers | false;
  readonly meterProvider: Meters | false;
  /** Flushes and shuts down. Resolves with whether that finished within two seconds. */
  stop(): Promise<boolean>;
}

interface ExportingOptions {
  readonly version: string;
  readonly log: (text: string) => void;
}

/** The timeout of the final flush, in milliseconds. */
const stopMs = 2000;

/** Starts exporting. The SDK itself reads headers, certificates, compression, limits and the sampler from the environment. */
export function startExporting(settings: TelemetrySettings, { version, log }: ExportingOptions): Exporting {
  const resource = resourceOf(version);
  const logFailure = createExportFailureLog(log);
  const tracerProvider = startTraces(settings, resource, logFailure);
  const meterProvider = startMetrics(settings, resource, logFailure);
  return {
    tracerProvider: tracerProvider ?? false,
    meterProvider: meterProvider ?? false,
    stop: () => isDoneWithin(stopMs, [tracerProvider?.shutdown(), meterProvider?.shutdown()]),
  };
}

type LogExportFailure = ReturnType<typeof createExportFailureLog>;

function startTraces(
  settings: TelemetrySettings,
  resource: Resource,
  logFailure: LogExportFailure,
): BasicTracerProvider | undefined {
  const { tracesUrl: url, traceTimeoutMs: timeoutMillis } = settings;
  if (url === undefined) return undefined;
  const exporter = watchExports(new OTLPTraceExporter({ url, timeoutMillis }), (error) =>
    logFailure("traces", url, error),
  );
  return new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] });
}

function startMetrics(
  settings: TelemetrySettings,
  resource: Resource,
  logFailure: LogExportFailure,
): MeterProvider | undefined {
  const { metricsUrl: url, metricTimeoutMs: timeoutMillis, metricIntervalMs: exportIntervalMillis } = settings;
  if (url === undefined) return undefined;
  const exporter = watchExports(new OTLPMetricExporter({ url, timeoutMillis }), (error) =>
    logFailure("metrics", url, error),
  );
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis });
  return new MeterProvider({ resource, readers: [reader] });
}

/** Describes this process; attributes from the environment take precedence. */
function resourceOf(version: string): Resource {
  const ours = resourceFromAttributes({ "service.name": "wirescope", "service.version": version });
  const detected = detectResources({ detectors: [serviceInstanceIdDetector, envDetector] });
  return defaultResource().merge(ours).merge(detected);
}

async function isDoneWithin(ms: number, work: readonly (Promise<void> | undefined)[]): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const done = Promise.allSettled(work).then(() => true);
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}

interface Exporter<Items> {
  export(items: Items, done: (result: ExportResult) => void): void;
}

/** Reports failed exports. The exporter itself is unchanged. */
export function watchExports<Items, Watched extends Exporter<Items>>(
  exporter: Watched & Exporter<Items>,
  onFailure: (error: Error | undefined) => void,
): Watched {
  const send = exporter.export.bind(exporter);
  exporter.export = (items: Items, done: (result: ExportResult) => void): void =>
    send(items, (result) => {
      if (result.code !== ExportResultCode.SUCCESS) onFailure(result.error);
      done(result);
    });
  return exporter;
}

/** Logs failed exports once per collector, because they are retried as long as the process runs. */
export function createExportFailureLog(
  log: (text: string) => void,
): (signal: "traces" | "metrics", url: string, error: Error | undefined) => void {
  const reported = new Set<string>();
  return (signal, url, error) => {
    const { origin } = new URL(url);
    if (reported.has(origin)) return;
    reported.add(origin);
    log(
      `Cannot export ${signal} to ${JSON.stringify(shownUrl(url))}: ${reasonOf(error)} Calls are not affected. ` +
        `${adviceFor(error)} Exports are retried; this is reported once.`,
    );
  };
}

/** Not the collector's own message, which may repeat what was sent to it. */
function reasonOf(error: Error | undefined): string {
  const code: unknown = error !== undefined && "code" in error ? error.code : undefined;
  if (typeof code === "number") return `it responded ${code}.`;
  if (typeof code === "string" && /^[A-Z0-9_]+$/.test(code)) return `${code}.`;
  return error?.message === "Request timed out" ? "it did not respond in time." : "the export failed.";
}

function adviceFor(error: Error | undefined): string {
  const code: unknown = error !== undefined && "code" in error ? error.code : undefined;
  if (code === 401 || code === 403) return "Check OTEL_EXPORTER_OTLP_HEADERS.";
  if (code === 404) return "Check the path of OTEL_EXPORTER_OTLP_ENDPOINT.";
  return "Start the collector, fix OTEL_EXPORTER_OTLP_ENDPOINT, or set OTEL_SDK_DISABLED=true.";
}
