import { describe, expect, test } from "vitest";
import { readTelemetrySettings } from "./telemetry-settings.js";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

describe("OpenTelemetry variables", () => {
  test("enables nothing if the variables are unset or empty", () => {
    for (const env of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: " ", OTEL_SERVICE_NAME: "mine" }]) {
      const { tracesUrl, metricsUrl, problems, propagators } = readTelemetrySettings(env);
      expect([tracesUrl, metricsUrl, problems]).toEqual([undefined, undefined, []]);
      expect(propagators).toEqual(["tracecontext"]);
    }
  });

  test.each([
    [endpoint, "http://collector:4318/v1/traces", "http://collector:4318/v1/metrics"],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "https://a/otlp/" }, "https://a/otlp/v1/traces", "https://a/otlp/v1/metrics"],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://a/in" }, "http://a/in", undefined],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://a/in" }, undefined, "http://a/in"],
    [{ OTEL_TRACES_EXPORTER: "otlp" }, "http://localhost:4318/v1/traces", undefined],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: "none" }, undefined, "http://collector:4318/v1/metrics"],
    [{ ...endpoint, OTEL_METRICS_EXPORTER: "none" }, "http://collector:4318/v1/traces", undefined],
    [{ ...endpoint, OTEL_SDK_DISABLED: "TRUE" }, undefined, undefined],
    [
      { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf" },
      "http://collector:4318/v1/traces",
      "http://collector:4318/v1/metrics",
    ],
  ])("reads the endpoint of each signal: %j", (env, traces, metrics) => {
    const { tracesUrl, metricsUrl, problems } = readTelemetrySettings(env);
    expect([tracesUrl, metricsUrl, problems]).toEqual([traces, metrics, []]);
  });

  test("names the supported protocol if gRPC is selected", () => {
    const { tracesUrl, metricsUrl, problems } = readTelemetrySettings({
      ...endpoint,
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "grpc",
    });
    expect([tracesUrl, metricsUrl]).toEqual([undefined, "http://collector:4318/v1/metrics"]);
    expect(problems).toEqual([
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is "grpc", which is not supported. No traces are exported. ' +
        "Use http/protobuf, and the endpoint for HTTP, which most collectors have at port 4318.",
    ]);
  });

  test.each([
    [{ OTEL_TRACES_EXPORTER: "zipkin" }, "Use otlp or none."],
    [{ OTEL_METRICS_EXPORTER: "prometheus" }, 'serves "/metrics" for Prometheus'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" }, "is not an http or https URL"],
    [
      { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      '"grpc", which is not supported. Nothing is exported by it.',
    ],
    [{ ...endpoint, OTEL_TRACES_SAMPLER: "sometimes" }, "OTEL_TRACES_SAMPLER is"],
    [{ ...endpoint, OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" }, "not a number from 0 to 1"],
    [{ ...endpoint, OTEL_METRIC_EXPORT_INTERVAL: "soon" }, "60000 is used instead"],
    [{ OTEL_PROPAGATORS: "tracecontext,b3" }, 'names "b3"'],
  ])("reports an unsupported value once, with advice: %j", (env, words) => {
    const { problems } = readTelemetrySettings(env);
    expect(problems.filter((problem) => problem.includes(words))).toHaveLength(1);
    for (const problem of problems) expect(problem).toMatch(/\.$/);
  });

  test("reads the propagators, and enables baggage only if it is named", () => {
    const of = (OTEL_PROPAGATORS: string): unknown => readTelemetrySettings({ OTEL_PROPAGATORS }).propagators;
    expect(of("tracecontext,baggage")).toEqual(["tracecontext", "baggage"]);
    expect(of("none")).toEqual([]);
    expect(of("b3")).toEqual([]);
  });

  test("repeats no secret of headers in a message", () => {
    const { secrets, problems } = readTelemetrySettings({
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=s3cret-key,authorization=Basic%20abc",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-other=0ther",
      OTEL_EXPORTER_OTLP_ENDPOINT: "ftp://user:passw0rd@collector",
    });
    expect(secrets).toEqual(expect.arrayContaining(["s3cret-key", "Basic abc", "0ther"]));
    expect(problems.join()).not.toMatch(/passw0rd|s3cret/);
  });

  test("treats the password in the URL of the collector as a secret", () => {
    const { secrets } = readTelemetrySettings({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://user:p%40ssword@collector" });
    expect(secrets).toContain("p@ssword");
  });

  test("reads the export timeout and the metric interval", () => {
    const given = { OTEL_EXPORTER_OTLP_TIMEOUT: "500", OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: "700" };
    expect(readTelemetrySettings({ ...given, OTEL_METRIC_EXPORT_INTERVAL: "1000" })).toMatchObject({
      traceTimeoutMs: 500,
      metricTimeoutMs: 700,
      metricIntervalMs: 1000,
    });
    expect(readTelemetrySettings({})).toMatchObject({ traceTimeoutMs: 10_000, metricIntervalMs: 60_000 });
  });
});
