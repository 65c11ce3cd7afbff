import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import { shownUrl } from "./otlp-endpoint.js";

interface Exporter<Items> {
  export(items: Items, done: (result: ExportResult) => void): void;
}

/** Tells of exports that failed. The exporter is the same, and works as before. */
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

/** Tells once for each collector that it cannot be exported to: exports are tried for as long as the process runs. */
export function createTroubleTeller(
  log: (text: string) => void,
): (signal: "traces" | "metrics", url: string, error: Error | undefined) => void {
  const told = new Set<string>();
  return (signal, url, error) => {
    const { origin } = new URL(url);
    if (told.has(origin)) return;
    told.add(origin);
    log(
      `Cannot export ${signal} to ${JSON.stringify(shownUrl(url))}: ${reasonOf(error)} Calls are not affected. ` +
        `${adviceFor(error)} Exports are retried; this is reported once.`,
    );
  };
}

/** In words of ours: what a collector says may hold what was sent to it. */
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
