import { parseUrl } from "@wirescope/channelz/internal";
import type { Propagator } from "@wirescope/gateway";

/** The settings from the OpenTelemetry environment variables. */
export interface TelemetrySettings {
  /** Where traces are sent; undefined if they are not. */
  readonly tracesUrl: string | undefined;
  /** Where metrics are sent; undefined if they are not. */
  readonly metricsUrl: string | undefined;
  /** Milliseconds between two exports of metrics. */
  readonly metricIntervalMs: number;
  /** The timeout of an export in milliseconds, including retries. */
  readonly traceTimeoutMs: number;
  readonly metricTimeoutMs: number;
  /** The context that is propagated from clients to servers. */
  readonly propagators: readonly Propagator[];
  /** Values that are sent to the collector and must be redacted elsewhere. */
  readonly secrets: readonly string[];
  /** Unsupported or invalid settings, each with advice, as lines to print. */
  readonly problems: readonly string[];
}

type Env = Readonly<Record<string, string | undefined>>;

const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
];

/** Reads the OpenTelemetry variables. Nothing is exported unless they name an exporter or an endpoint. */
export function readTelemetrySettings(env: Env): TelemetrySettings {
  const problems: string[] = [];
  const isOff = textOf(env, "OTEL_SDK_DISABLED")?.toLowerCase() === "true";
  const urlOf = (signal: "TRACES" | "METRICS"): string | undefined =>
    isOff || !isExported(env, signal, problems) ? undefined : readEndpoint(env, signal, problems);
  const tracesUrl = urlOf("TRACES");
  const metricsUrl = urlOf("METRICS");
  if (tracesUrl !== undefined) checkSampler(env, problems);
  return {
    tracesUrl,
    metricsUrl,
    metricIntervalMs: numberOf(env, ["OTEL_METRIC_EXPORT_INTERVAL"], 60_000, problems),
    traceTimeoutMs: timeoutOf(env, "TRACES", problems),
    metricTimeoutMs: timeoutOf(env, "METRICS", problems),
    propagators: propagatorsOf(env, problems),
    secrets: [
      ...["", "TRACES_", "METRICS_"].flatMap((signal) => headerValues(env[`OTEL_EXPORTER_OTLP_${signal}HEADERS`])),
      ...[tracesUrl, metricsUrl].flatMap((url) => (url === undefined ? [] : decoded(new URL(url).password))),
    ],
    problems: [...new Set(problems)],
  };
}

/** An empty variable counts as unset. */
function textOf(env: Env, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}

function isExported(env: Env, signal: "TRACES" | "METRICS", problems: string[]): boolean {
  const name = `OTEL_${signal}_EXPORTER`;
  const exporter = textOf(env, name);
  const what = signal.toLowerCase();
  if (exporter === "none") return false;
  if (exporter !== undefined && exporter !== "otlp") {
    const instead = exporter === "prometheus" ? ' The gateway always serves "/metrics" for Prometheus.' : "";
    problems.push(
      `${name} is ${JSON.stringify(exporter)}, which is not supported. No ${what} are exported. Use otlp or none.${instead}`,
    );
    return false;
  }
  const isNamed = [`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`, "OTEL_EXPORTER_OTLP_ENDPOINT"].some(
    (variable) => textOf(env, variable) !== undefined,
  );
  if (exporter === undefined && !isNamed) return false;
  return isProtocolSupported(env, signal, problems);
}

function isProtocolSupported(env: Env, signal: "TRACES" | "METRICS", problems: string[]): boolean {
  const names = [`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`, "OTEL_EXPORTER_OTLP_PROTOCOL"];
  const name = names.find((variable) => textOf(env, variable) !== undefined);
  const protocol = name === undefined ? "http/protobuf" : textOf(env, name);
  if (protocol === "http/protobuf") return true;
  const where = protocol === "grpc" ? ", and the endpoint for HTTP, which most collectors have at port 4318" : "";
  const what = name === names[0] ? `No ${signal.toLowerCase()} are exported` : "Nothing is exported by it";
  problems.push(`${name} is ${JSON.stringify(protocol)}, which is not supported. ${what}. Use http/protobuf${where}.`);
  return false;
}

function checkSampler(env: Env, problems: string[]): void {
  const sampler = textOf(env, "OTEL_TRACES_SAMPLER");
  if (sampler === undefined) return;
  if (!samplers.includes(sampler)) {
    const list = samplers.join(", ");
    problems.push(
      `OTEL_TRACES_SAMPLER is ${JSON.stringify(sampler)}, which is unknown. All traces are sampled. Use ${list}.`,
    );
    return;
  }
  const share = textOf(env, "OTEL_TRACES_SAMPLER_ARG");
  const isShare = share !== undefined && Number(share) >= 0 && Number(share) <= 1;
  if (sampler.endsWith("traceidratio") && !isShare) {
    problems.push(
      `OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1. All traces are sampled. Set it, or use another sampler.`,
    );
  }
}

/** By default without baggage, because the servers may belong to third parties. */
function propagatorsOf(env: Env, problems: string[]): readonly Propagator[] {
  const named = textOf(env, "OTEL_PROPAGATORS");
  if (named === undefined) return ["tracecontext"];
  const list = named.split(",").map((part) => part.trim());
  const unknown = list.filter((name) => !["tracecontext", "baggage", "none"].includes(name));
  if (unknown.length > 0) {
    problems.push(
      `OTEL_PROPAGATORS names ${unknown.map((name) => JSON.stringify(name)).join(", ")}, which is not supported. ` +
        "It is ignored. Use tracecontext, baggage or none.",
    );
  }
  return (["tracecontext", "baggage"] as const).filter((name) => list.includes(name));
}

function timeoutOf(env: Env, signal: "TRACES" | "METRICS", problems: string[]): number {
  return numberOf(env, [`OTEL_EXPORTER_OTLP_${signal}_TIMEOUT`, "OTEL_EXPORTER_OTLP_TIMEOUT"], 10_000, problems);
}

/** The first of these variables that is set, in milliseconds. */
function numberOf(env: Env, names: readonly string[], fallback: number, problems: string[]): number {
  const name = names.find((candidate) => textOf(env, candidate) !== undefined);
  if (name === undefined) return fallback;
  const value = Number(textOf(env, name));
  if (Number.isSafeInteger(value) && value > 0 && value < 2 ** 31) return value;
  problems.push(`${name} is not a positive number of milliseconds. ${fallback} is used instead. Set it to an integer.`);
  return fallback;
}

/** The values in a list of `name=value`. */
function headerValues(list: string | undefined): readonly string[] {
  const pairs = (list ?? "").split(",").filter((pair) => pair.includes("="));
  return pairs.flatMap((pair) => decoded(pair.slice(pair.indexOf("=") + 1).trim()));
}

/** A value as written, and percent-decoded. */
function decoded(value: string): readonly string[] {
  if (value === "") return [];
  try {
    return [value, decodeURIComponent(value)];
  } catch {
    return [value];
  }
}

/**
 * The URL that a signal is sent to; undefined, with a problem, if it is invalid. A URL for one signal is used unchanged; to the URL for
 * all signals, the path of the signal is added.
 */
function readEndpoint(env: Env, signal: "TRACES" | "METRICS", problems: string[]): string | undefined {
  const path = `v1/${signal.toLowerCase()}`;
  const own = env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]?.trim() || undefined;
  const common = env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim() || "http://localhost:4318";
  const given = own ?? common;
  const url = parseUrl(given);
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    const name = own === undefined ? "OTEL_EXPORTER_OTLP_ENDPOINT" : `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`;
    const what = own === undefined ? "Nothing is exported to it" : `No ${signal.toLowerCase()} are exported`;
    problems.push(`${name} is not an http or https URL. ${what}. Use a value such as "http://localhost:4318".`);
    return undefined;
  }
  if (own === undefined) url.pathname = `${url.pathname.replace(/\/+$/, "")}/${path}`;
  return url.href;
}

/** A URL as it may be shown: without a password, and without query and fragment. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
