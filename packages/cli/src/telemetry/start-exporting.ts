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
  const logResult = createExportLog(log);
  const tracerProvider = startTraces(settings, resource, logResult);
  const meterProvider = startMetrics(settings, resource, logResult);
  return {
    tracerProvider: tracerProvider ?? false,
    meterProvider: meterProvider ?? false,
    stop: () => isDoneWithin(stopMs, [tracerProvider?.shutdown(), meterProvider?.shutdown()]),
  };
}

type LogExport = ReturnType<typeof createExportLog>;

function startTraces(
  settings: TelemetrySettings,
  resource: Resource,
  logResult: LogExport,
): BasicTracerProvider | undefined {
  const { tracesUrl: url, traceTimeoutMs: timeoutMillis } = settings;
  if (url === undefined) return undefined;
  const exporter = watchExports(new OTLPTraceExporter({ url, timeoutMillis }), (result) =>
    logResult("traces", url, result),
  );
  return new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] });
}

function startMetrics(
  settings: TelemetrySettings,
  resource: Resource,
  logResult: LogExport,
): MeterProvider | undefined {
  const { metricsUrl: url, metricTimeoutMs: timeoutMillis, metricIntervalMs: exportIntervalMillis } = settings;
  if (url === undefined) return undefined;
  const exporter = watchExports(new OTLPMetricExporter({ url, timeoutMillis }), (result) =>
    logResult("metrics", url, result),
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

/** Reports the result of each export. The exporter itself is unchanged. */
export function watchExports<Items, Watched extends Exporter<Items>>(
  exporter: Watched & Exporter<Items>,
  onResult: (result: ExportResult) => void,
): Watched {
  const send = exporter.export.bind(exporter);
  exporter.export = (items: Items, done: (result: ExportResult) => void): void =>
    send(items, (result) => {
      onResult(result);
      done(result);
    });
  return exporter;
}

/** The minimum time between two reports about a collector, in milliseconds: one that fails now and then would fill the log. */
const repeatMs = 3_600_000;

/**
 * Logs failed exports once per collector, because they are retried as long as the process runs; again if they fail after they have
 * worked, at most once an hour.
 */
export function createExportLog(
  log: (text: string) => void,
  now: () => number = Date.now,
): (signal: "traces" | "metrics", url: string, result: ExportResult) => void {
  const failing = new Set<string>();
  const reportedAt = new Map<string, number>();
  return (signal, url, { code, error }) => {
    if (code === ExportResultCode.SUCCESS) {
      failing.delete(url);
      return;
    }
    const { origin } = new URL(url);
    const isKnown = [...failing].some((other) => new URL(other).origin === origin);
    // If it is too early, a later failure is reported.
    if (!isKnown && now() - (reportedAt.get(origin) ?? Number.NEGATIVE_INFINITY) < repeatMs) return;
    failing.add(url);
    if (isKnown) return;
    reportedAt.set(origin, now());
    log(
      `Cannot export ${signal} to ${JSON.stringify(shownUrl(url))}: ${reasonOf(error)} Calls are not affected. ` +
        `${adviceFor(error)} Exports are retried; this is reported once until they work again.`,
    );
  };
}

function codeOf(error: Error | undefined): unknown {
  return error !== undefined && "code" in error ? error.code : undefined;
}

/**
 * The messages of OTLP exporters, whose version is pinned, for failures that have no code: a time limit, and a status that was retried, of
 * which the exporter does not keep which one it was.
 */
const exporterMessages: ReadonlyMap<string, "timeout" | "overloaded"> = new Map([
  ["Request timed out", "timeout"],
  ["Export failed with retryable status", "overloaded"],
] as const);

/** Not the collector's own message, which may repeat what was sent to it. */
function reasonOf(error: Error | undefined): string {
  const code = codeOf(error);
  if (typeof code === "number") return `it responded ${code}.`;
  if (typeof code === "string" && /^[A-Z0-9_]+$/.test(code)) return `${code}.`;
  switch (exporterFailure(error)) {
    case "overloaded":
      return "it is overloaded or unavailable (429, 502, 503 or 504).";
    case "timeout":
      return "it did not respond in time.";
    default:
      return "the export failed.";
  }
}

function exporterFailure(error: Error | undefined): "timeout" | "overloaded" | undefined {
  return exporterMessages.get(error?.message ?? "");
}

function adviceFor(error: Error | undefined): string {
  const code = codeOf(error);
  if (code === 401 || code === 403) return "Check OTEL_EXPORTER_OTLP_HEADERS.";
  if (code === 404) return "Check the path of OTEL_EXPORTER_OTLP_ENDPOINT.";
  if (typeof code === "number" && code >= 300 && code < 400)
    return "Redirects are not followed: set OTEL_EXPORTER_OTLP_ENDPOINT to the address that it redirects to.";
  if (typeof code === "number" || exporterFailure(error) === "overloaded") return "See the log of the collector.";
  if (typeof code === "string" && /SELF_SIGNED|^UNABLE_TO_|^CERT_UNTRUSTED/.test(code))
    return "Its certificate is not signed by a known CA: set OTEL_EXPORTER_OTLP_CERTIFICATE to the file of the CA certificate (PEM).";
  return "Start the collector, fix OTEL_EXPORTER_OTLP_ENDPOINT, or set OTEL_SDK_DISABLED=true.";
}
