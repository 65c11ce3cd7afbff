import type { GatewayTelemetry } from "@wirescope/gateway";
import type { SecretRegistry } from "@wirescope/tool-server";
import { readTelemetrySettings } from "./telemetry-settings.js";

export interface TelemetryOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly secrets: Pick<SecretRegistry, "add">;
  /** Prints problems with the variables to the person who started the gateway. */
  readonly say: (text: string) => void;
  /** Logs later problems. */
  readonly log: (text: string) => void;
}

/**
 * Starts telemetry as configured by the OpenTelemetry variables. Never rejects: problems are reported. If nothing is to be
 * exported, OpenTelemetry is not loaded.
 */
export async function startTelemetry(options: TelemetryOptions): Promise<GatewayTelemetry> {
  const { env, version, secrets, say, log } = options;
  const settings = readTelemetrySettings(env);
  const { propagators } = settings;
  for (const problem of settings.problems) say(problem);
  for (const secret of settings.secrets) secrets.add(secret);
  // Not the global providers: nothing else in this process registers any.
  if (settings.tracesUrl === undefined && settings.metricsUrl === undefined) {
    return { tracerProvider: false, meterProvider: false, propagators };
  }
  const { startExporting } = await import("./start-exporting.js");
  const { tracerProvider, meterProvider, stop } = startExporting(settings, { version, log });
  const flush = async (): Promise<void> => {
    if (!(await stop())) exitSoon();
  };
  return { tracerProvider, meterProvider, propagators, flush };
}

/** How long everything else may take to end, in milliseconds. */
const exitDelayMs = 1000;

/** Ends the process if only exports keep it alive: they cannot be cancelled, and may take as long as their timeout. */
function exitSoon(): void {
  setTimeout(() => process.exit(), exitDelayMs).unref();
}
