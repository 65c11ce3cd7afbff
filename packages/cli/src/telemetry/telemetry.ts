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
 * Starts telemetry as the OpenTelemetry variables configure it. Never rejects: problems are reported. If nothing is to be
 * exported, nothing of OpenTelemetry is loaded.
 */
export async function startTelemetry(options: TelemetryOptions): Promise<GatewayTelemetry> {
  const { env, version, secrets, say, log } = options;
  const settings = readTelemetrySettings(env);
  const { propagators } = settings;
  for (const problem of settings.problems) say(problem);
  for (const secret of settings.secrets) secrets.add(secret);
  // What is global is nobody's here: this process has no other part.
  if (settings.tracesUrl === undefined && settings.metricsUrl === undefined) {
    return { tracerProvider: false, meterProvider: false, propagators };
  }
  const { startExporting } = await import("./start-exporting.js");
  const { tracerProvider, meterProvider, stop } = startExporting(settings, { version, log });
  const flush = async (): Promise<void> => {
    if (!(await stop())) leaveSoon();
  };
  return { tracerProvider, meterProvider, propagators, flush };
}

/** How long everything else has to end, in milliseconds. */
const leaveMs = 1000;

/** Ends the process if only exports keep it alive: they cannot be cancelled, and may take as long as their timeout. */
function leaveSoon(): void {
  setTimeout(() => process.exit(), leaveMs).unref();
}
